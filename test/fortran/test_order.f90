! test_order.f90 - the order of dims and values, as the command szgpu sees them, and sections.
! SPDX-License-Identifier: BSD-3-Clause
module test_order
  use, intrinsic :: iso_fortran_env, only: int8, int64, real32, real64
  use checks
  use szgpu
  implicit none
  private
  public :: test_the_command_sees_the_reversed_shape, test_sections

contains

  subroutine test_the_command_sees_the_reversed_shape(command, folder)
    character(*), intent(in) :: command, folder
    type(szgpu_ctx) :: ctx
    integer(int8), allocatable :: archive(:), bytes(:)
    real(real32) :: field(7, 5, 3, 2), restored(7, 5, 3, 2)
    integer :: i

    field = reshape([(real(i * i, real32), i=1, size(field))], shape(field))
    call szgpu_compress(ctx, field, archive, bound=0.5d0, mode=SZGPU_MODE_ABS)
    call szgpu_decompress(ctx, archive, restored)
    call write_bytes(folder // '/order.szg', archive)
    call write_bytes(folder // '/order.f32', transfer(field, archive))

    call run('-z -q -f -t f32 -d 2x3x5x7 -m abs -e 0.5 -o order_c.szg order.f32')
    bytes = read_bytes(folder // '/order_c.szg')
    call check(size(bytes) == size(archive), 'the command makes an archive of the same size')
    if (size(bytes) == size(archive)) &
      call check(all(bytes == archive), 'the command makes the same archive')

    call run('-x -q -f -o whole.f32 order.szg')
    call check_file('whole.f32', restored)
    call run('-x -q -f --region :,1,2:4,3 -o part.f32 order.szg')
    call check_file('part.f32', restored(4:4, 3:4, 2:2, :))

  contains

    subroutine run(arguments)
      character(*), intent(in) :: arguments
      integer :: status

      call execute_command_line('cd ' // folder // ' && ' // command // ' ' // arguments, &
                                exitstat=status)
      call check(status == 0, 'szgpu ' // arguments)
    end subroutine

    subroutine check_file(name, values)
      character(*), intent(in) :: name
      real(real32), intent(in) :: values(:, :, :, :)

      bytes = read_bytes(folder // '/' // name)
      call check(size(bytes) == 4 * size(values), name // ' has the size of the array')
      if (size(bytes) == 4 * size(values)) &
        call check(all(bytes == transfer(values, bytes)), name // ' has the values of the array')
    end subroutine
  end subroutine

  subroutine test_sections()
    type(szgpu_ctx) :: ctx
    type(szgpu_info) :: info
    integer(int8), allocatable :: archive(:), packed(:), every_other(:)
    real(real64), target :: field(12, 10)
    real(real64) :: copy(6, 5), around(12, 10)
    real(real64), pointer :: part(:, :)
    integer :: i

    field = reshape([(sqrt(real(i, real64)), i=1, size(field))], shape(field))
    copy = field(2::2, ::2)
    call szgpu_compress(ctx, copy, packed, bound=1d-3)
    call szgpu_compress(ctx, field(2::2, ::2), archive, bound=1d-3)
    call check(size(archive) == size(packed), 'a section has the archive of its copy')
    call check(all(archive == packed), 'a section has the bytes of its copy')
    part => field(2::2, ::2)
    call szgpu_compress(ctx, part, archive, bound=1d-3)
    call check(all(archive == packed), 'a pointer to a section has the archive of its copy')

    call szgpu_decompress(ctx, packed, copy)
    around = -1
    call szgpu_decompress(ctx, packed, around(2::2, ::2))
    call check(all(abs(around(2::2, ::2) - copy) <= 0), 'a section takes the values')
    call check(all(around(1::2, :) < 0) .and. all(around(:, 2::2) < 0), 'nothing else changes')

    allocate (every_other(2 * size(packed)))
    every_other = 0
    every_other(::2) = packed
    copy = 0
    call szgpu_inspect(every_other(::2), info)
    call szgpu_decompress(ctx, every_other(::2), copy)
    call check(all(abs(copy - around(2::2, ::2)) <= 0), 'an archive may be a section')
  end subroutine
end module
