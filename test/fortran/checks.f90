! checks.f90 - counts claims, prints those that do not hold, and reads and writes whole files.
! SPDX-License-Identifier: BSD-3-Clause
module checks
  use, intrinsic :: iso_fortran_env, only: int8, int64
  use szgpu
  implicit none
  private
  public :: check, check_refusal, report, remove, write_bytes, read_bytes
  integer :: claims = 0, broken = 0

contains

  subroutine check(holds, claim)
    logical, intent(in) :: holds
    character(*), intent(in) :: claim

    claims = claims + 1
    if (holds) return
    broken = broken + 1
    print '(2a)', 'does not hold: ', claim
  end subroutine

  ! A call must have given this status and, with a sentence, that one.
  subroutine check_refusal(claim, stat, expected, sentence, wanted)
    character(*), intent(in) :: claim
    integer, intent(in) :: stat, expected
    character(*), intent(in), optional :: sentence, wanted

    call check(stat == expected, claim // ' gives ' // szgpu_status_name(stat))
    if (present(wanted)) call check(sentence == wanted, claim // ' says: ' // sentence)
  end subroutine

  subroutine report()
    print '(i0, a, i0, a)', claims, ' claims, ', broken, ' do not hold'
    if (broken > 0 .or. claims == 0) stop 1
  end subroutine

  subroutine remove(path)
    character(*), intent(in) :: path
    integer :: unit

    open (newunit=unit, file=path)
    close (unit, status='delete')
  end subroutine

  subroutine write_bytes(path, bytes)
    character(*), intent(in) :: path
    integer(int8), intent(in) :: bytes(:)
    integer :: unit

    open (newunit=unit, file=path, access='stream', form='unformatted', status='replace')
    write (unit) bytes
    close (unit)
  end subroutine

  function read_bytes(path) result(bytes)
    character(*), intent(in) :: path
    integer(int8), allocatable :: bytes(:)
    integer(int64) :: byte_count
    integer :: unit

    open (newunit=unit, file=path, access='stream', form='unformatted', status='old', action='read')
    inquire (unit, size=byte_count)
    allocate (bytes(byte_count))
    read (unit) bytes
    close (unit)
  end function
end module
