! test_fortran.f90 - claims about the Fortran module szgpu.
! SPDX-License-Identifier: BSD-3-Clause
!
! usage: test_fortran COMMAND FOLDER [dies-by-bound|dies-by-copy]
! COMMAND is the absolute path of szgpu; files are written to FOLDER. With a third argument, the
! program does what must end it with a sentence.
program test_fortran
  use, intrinsic :: iso_fortran_env, only: int8, int64, real32, real64
  use checks
  use szgpu
  use test_order
  use test_refusals
  use test_types
  implicit none
  character(:), allocatable :: command, folder

  command = argument(1)
  folder = argument(2)
  select case (argument(3))
  case ('dies-by-bound')
    call die_by_bound()
    stop 3
  case ('dies-by-copy')
    call die_by_copy()
    stop 3
  end select

  call test_every_type_and_rank(folder)
  call test_the_command_sees_the_reversed_shape(command, folder)
  call test_sections()
  call test_params()
  call test_threads()
  call test_previews()
  call test_names_of_statuses()
  call test_bad_bounds_and_arrays()
  call test_bad_destinations()
  call test_bad_archives()
  call test_bad_options()
  call test_bad_series(folder)
  call test_scopes_free_what_they_hold()
  call test_errors_end_the_program()
  deallocate (command, folder)
  call report()

contains

  function argument(number) result(text)
    integer, intent(in) :: number
    character(:), allocatable :: text
    integer :: length

    call get_command_argument(number, length=length)
    allocate (character(length) :: text)
    if (length > 0) call get_command_argument(number, text)
  end function

  subroutine test_params()
    type(szgpu_ctx) :: ctx
    type(szgpu_params) :: params
    type(szgpu_info) :: info
    integer(int8), allocatable :: archive(:)
    real(real64) :: field(1000), restored(1000)
    integer :: i

    field = [(sin(i * 0.01d0) * 5, i=1, 1000)]
    call szgpu_compress(ctx, field, archive)
    call szgpu_inspect(archive, info)
    call check(info%mode == SZGPU_MODE_REL .and. abs(info%bound - 1d-4) <= 0, 'the defaults')

    params = szgpu_params(mode=SZGPU_MODE_ABS, bound=0.01d0, has_fill=1, fill=-999d0)
    field(500) = -999
    call szgpu_compress(ctx, field, archive, params=params)
    call szgpu_inspect(archive, info)
    call check(info%mode == SZGPU_MODE_ABS .and. abs(info%bound - 0.01d0) <= 0 .and. &
               info%has_fill == 1 .and. abs(info%fill + 999) <= 0, 'params reach the archive')
    call szgpu_compress(ctx, field, archive, params=params, bound=0.02d0)
    call szgpu_inspect(archive, info)
    call check(info%mode == SZGPU_MODE_ABS .and. abs(info%bound - 0.02d0) <= 0, &
               'bound replaces that of params')
    call szgpu_decompress(ctx, archive, restored)
    call check(all(abs(restored - field) <= 0.02d0) .and. abs(restored(500) + 999) <= 0, &
               'the bound holds, the fill value is kept')
    call szgpu_compress(ctx, field, archive, params=params, mode=SZGPU_MODE_PSNR, bound=60d0)
    call szgpu_inspect(archive, info)
    call check(info%mode == SZGPU_MODE_PSNR, 'mode replaces that of params')
  end subroutine

  subroutine test_threads()
    type(szgpu_ctx) :: one, four
    integer(int8), allocatable :: archive(:), same(:)
    real(real32), allocatable :: field(:, :)
    integer :: i, j

    allocate (field(600, 500))
    do j = 1, 500
      do i = 1, 600
        field(i, j) = real(sin(i * 0.02d0) * cos(j * 0.03d0), real32)
      end do
    end do
    call szgpu_create(one, threads=1)
    call szgpu_create(four, threads=4)
    call szgpu_compress(one, field, archive, bound=1d-5)
    call szgpu_compress(four, field, same, bound=1d-5)
    call check(size(archive) == size(same), 'threads do not change an archive''s size')
    call check(all(archive == same), 'threads do not change an archive')
    call check(szgpu_last_note(one) == '' .or. szgpu_has_cuda(), 'no note without a GPU')
    call check(szgpu_device_count() == 0 .or. szgpu_has_cuda(), 'no GPU without CUDA')
  end subroutine

  subroutine test_previews()
    type(szgpu_ctx) :: ctx
    type(szgpu_info) :: info
    integer(int8), allocatable :: archive(:)
    integer(int64), allocatable :: extents(:)
    real(real64) :: field(64, 51), restored(64, 51)
    real(real64), allocatable :: preview(:, :)
    integer :: i, j

    do j = 1, 51
      do i = 1, 64
        field(i, j) = sin(i * 0.05d0) + cos(j * 0.04d0)
      end do
    end do
    call szgpu_compress(ctx, field, archive, &
      params=szgpu_params(predictor=SZGPU_PREDICTOR_INTERPOLATION, bound=1d-4))
    call szgpu_inspect(archive, info)
    extents = szgpu_extents(info, level=2)
    call check(all(extents == [16, 13]), 'extents of a preview')
    allocate (preview(extents(1), extents(2)))
    call szgpu_decompress(ctx, archive, preview, level=2)
    call szgpu_decompress(ctx, archive, restored)
    call check(all(abs(preview - restored(::4, ::4)) <= 0), 'a preview has every fourth value')
    preview(:3, :2) = 0
    call szgpu_decompress(ctx, archive, preview(:3, :2), first=[5_int64, 4_int64], level=2)
    call check(all(abs(preview(:3, :2) - restored(17:25:4, 13:17:4)) <= 0), 'a box of a preview')
    call check(size(szgpu_extents(info, level=7)) == 0, 'no extents of a level that cannot be')
  end subroutine

  ! A series that is not closed keeps its lock, and a ctx that is not freed its workspace.
  subroutine test_scopes_free_what_they_hold()
    real(real32), allocatable :: field(:)
    integer(int64) :: before
    integer :: i

    allocate (field(200000))
    field = [(real(mod(i * 7, 1000)), i=1, size(field))]
    call remove(folder // '/scopes.szgs')
    call open_and_leave()
    call open_and_leave()
    call use_and_leave(field)
    before = resident_pages()
    do i = 1, 200
      call use_and_leave(field)
    end do
    call check(resident_pages() < before + 5000, 'a ctx is freed at the end of its scope')
  end subroutine

  subroutine open_and_leave()
    type(szgpu_series) :: series
    type(szgpu_ctx) :: ctx
    integer :: stat

    call szgpu_series_open(series, folder // '/scopes.szgs', append=.true., stat=stat)
    call check_refusal('a series is closed at the end of its scope', stat, SZGPU_OK)
    call szgpu_series_append(series, ctx, [1.0, 2.0, 3.0])
  end subroutine

  subroutine use_and_leave(field)
    real(real32), intent(in) :: field(:)
    type(szgpu_ctx) :: ctx
    integer(int8), allocatable :: archive(:)

    call szgpu_create(ctx, threads=1)
    call szgpu_compress(ctx, field, archive, bound=1d-6)
  end subroutine

  integer(int64) function resident_pages()
    integer(int64) :: pages(2)
    integer :: unit

    open (newunit=unit, file='/proc/self/statm', action='read')
    read (unit, *) pages
    close (unit)
    resident_pages = pages(2)
  end function

  subroutine test_errors_end_the_program()
    call dies('dies-by-bound', 'szgpu: the error bound is not a finite positive number: ')
    call dies('dies-by-copy', 'szgpu: a szgpu_ctx cannot be copied.')
  end subroutine

  subroutine dies(way, sentence)
    character(*), intent(in) :: way, sentence
    character(:), allocatable :: said
    integer :: status

    call execute_command_line(argument(0) // ' ' // command // ' ' // folder // ' ' // way // &
                              ' 2> ' // folder // '/said', exitstat=status)
    call check(status == 1, way // ' ends the program with 1')
    said = transfer(read_bytes(folder // '/said'), repeat(' ', 80))
    call check(index(said, sentence) > 0, way // ' says: ' // said)
  end subroutine

  subroutine die_by_bound()
    type(szgpu_ctx) :: ctx
    integer(int8), allocatable :: archive(:)

    call szgpu_compress(ctx, [1.0, 2.0], archive, bound=-1d0)
  end subroutine

  subroutine die_by_copy()
    type(szgpu_ctx) :: ctx, second

    call szgpu_create(ctx)
    second = ctx
  end subroutine
end program
