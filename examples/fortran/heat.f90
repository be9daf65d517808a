! heat.f90 - a simulation in Fortran: appends its steps to a series, reads one, checks the bound.
! SPDX-License-Identifier: BSD-3-Clause
!
! gfortran $(pkg-config --variable=includedir szgpu)/szgpu.f90 heat.f90 $(pkg-config --libs szgpu)
!
! CMakeLists.txt does the same by find_package. The heat equation on a plate: its edges are
! cold, one corner is heated. Takes the name of the series, heat.szgs by default.
program heat
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use szgpu
  implicit none
  integer, parameter :: nx = 200, ny = 120, steps = 20, checked = 12
  real(real64), parameter :: bound = 1e-3_real64 ! kelvin
  real(real64) :: plate(nx, ny), kept(nx, ny), restored(nx, ny), corner(10, 5)
  type(szgpu_ctx) :: ctx
  type(szgpu_series) :: series
  type(szgpu_info) :: info
  character(256) :: path
  integer :: step, minor

  path = 'heat.szgs'
  if (command_argument_count() > 0) call get_command_argument(1, path)
  open (unit=10, file=path)
  close (unit=10, status='delete')

  call szgpu_create(ctx, threads=2)
  call szgpu_series_open(series, path, append=.true.)
  plate = 280
  do step = 1, steps
    do minor = 1, 50
      call advance(plate)
    end do
    call szgpu_series_append(series, ctx, plate, bound=bound, mode=SZGPU_MODE_ABS, &
                             name='temperature', time=0.5_real64 * step)
    if (step == checked) kept = plate
  end do
  call szgpu_series_close(series)

  call szgpu_series_open(series, path)
  call szgpu_series_inspect(series, checked, info)
  call szgpu_series_read(series, ctx, checked, restored)
  ! A part: corner(1, 1) is restored(11, 21).
  call szgpu_series_read(series, ctx, checked, corner, first=[11_int64, 21_int64])

  print '(2a, i0, a, i0, a, i0, a, i0, a, es8.2, a, es8.2)', trim(path), ': ', &
    szgpu_series_count(series), ' steps; step ', checked, ': ', info%field_bytes, ' -> ', &
    info%archive_bytes, ' bytes, max error ', maxval(abs(restored - kept)), ', bound ', bound
  if (.not. all(abs(restored - kept) <= bound)) error stop 'heat.f90: the bound does not hold'
  if (any(abs(corner - restored(11:20, 21:25)) > 0)) error stop 'heat.f90: the part differs'

contains

  subroutine advance(t)
    real(real64), intent(inout) :: t(:, :)
    real(real64), parameter :: share = 0.2_real64

    t(2:nx - 1, 2:ny - 1) = t(2:nx - 1, 2:ny - 1) + share * (t(1:nx - 2, 2:ny - 1) + &
      t(3:nx, 2:ny - 1) + t(2:nx - 1, 1:ny - 2) + t(2:nx - 1, 3:ny) - 4 * t(2:nx - 1, 2:ny - 1))
    t(2:20, 2:20) = 400
  end subroutine
end program
