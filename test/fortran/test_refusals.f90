! test_refusals.f90 - bad arguments, archives and files: the status, the sentence, and no harm done.
! SPDX-License-Identifier: BSD-3-Clause
module test_refusals
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan, ieee_positive_inf
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int64, real32, real64
  use checks
  use szgpu
  implicit none
  private
  public :: test_bad_bounds_and_arrays, test_bad_destinations, test_bad_archives
  public :: test_bad_options, test_bad_series, test_names_of_statuses

contains

  subroutine test_names_of_statuses()
    call check(szgpu_status_name(SZGPU_BAD_BOUND) == 'SZGPU_BAD_BOUND', 'name of a status')
    call check(szgpu_status_name(-1) == 'unknown status', 'name below all')
    call check(szgpu_status_name(1000) == 'unknown status', 'name above all')
    call check(szgpu_status_text(SZGPU_OK) == 'no error', 'text of a status')
    call check(szgpu_dtype_name(1000) == 'unknown type', 'name of no type')
  end subroutine

  subroutine test_bad_bounds_and_arrays()
    type(szgpu_ctx) :: ctx
    integer(int8), allocatable :: archive(:)
    real(real64), allocatable :: field(:, :), missing(:, :)
    integer :: i, stat

    field = reshape([(real(i, real64), i=1, 100)], [10, 10])
    call refuse_bound(0d0, 'bound 0')
    call refuse_bound(-1d-3, 'a negative bound')
    call refuse_bound(ieee_value(0d0, ieee_quiet_nan), 'bound NaN')
    call refuse_bound(ieee_value(0d0, ieee_positive_inf), 'an infinite bound')

    call szgpu_compress(ctx, field, archive, mode=99, stat=stat)
    call check_refusal('mode 99', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_compress(ctx, missing, archive, stat=stat)
    call check_refusal('an array that is not allocated', stat, SZGPU_BAD_ARGUMENT, &
                       szgpu_last_error(ctx), 'the array is not allocated')
    call szgpu_compress(ctx, field(:, 1:0), archive, stat=stat)
    call check_refusal('an empty array', stat, SZGPU_BAD_SHAPE)
    call szgpu_compress(ctx, field(3, 3), archive, stat=stat)
    call check_refusal('a scalar', stat, SZGPU_BAD_SHAPE)
    call szgpu_compress(ctx, reshape(field, [2, 5, 2, 5, 1]), archive, stat=stat)
    call check_refusal('five dims', stat, SZGPU_BAD_SHAPE)
    call check(.not. allocated(archive), 'no archive after an error')

    call szgpu_compress(ctx, field, archive, stat=stat)
    call check(stat == SZGPU_OK .and. allocated(archive), 'the ctx stays usable')
    call check(szgpu_last_error(ctx) == '', 'no sentence after success')

  contains

    subroutine refuse_bound(bound, claim)
      real(real64), intent(in) :: bound
      character(*), intent(in) :: claim

      call szgpu_compress(ctx, field, archive, bound=bound, mode=SZGPU_MODE_ABS, stat=stat)
      call check_refusal(claim, stat, SZGPU_BAD_BOUND)
      call check(szgpu_last_error(ctx) /= '', claim // ' has a sentence')
      call check(.not. allocated(archive), claim // ' gives no archive')
    end subroutine
  end subroutine

  subroutine test_bad_destinations()
    type(szgpu_ctx) :: ctx
    integer(int8), allocatable :: archive(:)
    real(real64) :: field(6, 5, 4), turned(4, 5, 6), flat(6, 20), deep(2, 3, 5, 2, 2)
    real(real64), allocatable :: missing(:, :, :)
    real(real32) :: narrow(6, 5, 4)
    integer :: i, stat

    field = reshape([(real(i, real64), i=1, size(field))], shape(field))
    call szgpu_compress(ctx, field, archive, bound=1d-3)
    turned = -1
    call szgpu_decompress(ctx, archive, turned, stat=stat)
    call check_refusal('another shape', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'the archive holds f64 of shape (6, 5, 4), the array f64 of shape (4, 5, 6)')
    call check(all(turned < 0), 'a refused array stays as it is')
    call szgpu_decompress(ctx, archive, flat, stat=stat)
    call check_refusal('another rank', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'the archive holds f64 of shape (6, 5, 4), the array f64 of shape (6, 20)')
    call szgpu_decompress(ctx, archive, narrow, stat=stat)
    call check_refusal('another type', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'the archive holds f64 of shape (6, 5, 4), the array f32 of shape (6, 5, 4)')
    call szgpu_decompress(ctx, archive, deep, stat=stat)
    call check_refusal('five dims', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'the archive holds f64 of shape (6, 5, 4), the array f64 of 5 dims')
    call szgpu_decompress(ctx, archive, missing, stat=stat)
    call check_refusal('an array that is not allocated', stat, SZGPU_BAD_ARGUMENT, &
                       szgpu_last_error(ctx), 'the array is not allocated')

    call szgpu_decompress(ctx, archive, field(:2, :2, :2), first=[1_int64, 5_int64, 1_int64], &
                          stat=stat)
    call check_refusal('a box beyond a dim', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'subscripts 5 to 6 of dim 2 are not within 1 to 5')
    call szgpu_decompress(ctx, archive, field(:2, :2, :2), first=[0_int64, 1_int64, 1_int64], &
                          stat=stat)
    call check_refusal('a box before a dim', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'subscripts 0 to 1 of dim 1 are not within 1 to 6')
    call szgpu_decompress(ctx, archive, field(:2, :2, :2), &
                          first=[1_int64, 1_int64, huge(1_int64)], stat=stat)
    call check_refusal('a box at infinity', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_decompress(ctx, archive, field(:2, :2, 1:0), first=[1_int64, 1_int64, 1_int64], &
                          stat=stat)
    call check_refusal('an empty box', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_decompress(ctx, archive, field(:2, :2, :2), first=[1_int64, 1_int64], stat=stat)
    call check_refusal('too few subscripts', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'first has 2 subscripts, the array has 3 dims')
    call szgpu_decompress(ctx, archive, field, level=7, stat=stat)
    call check_refusal('level 7', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'level 7 is not 0 to 6')
  end subroutine

  subroutine test_bad_archives()
    type(szgpu_ctx) :: ctx
    type(szgpu_info) :: info
    integer(int8), allocatable :: archive(:), damaged(:), missing(:)
    real(real64) :: field(50, 40), restored(50, 40)
    integer :: i, stat

    field = reshape([(sin(real(i, real64)), i=1, size(field))], shape(field))
    call szgpu_compress(ctx, field, archive, bound=1d-3)
    do i = 1, size(archive), 7
      damaged = archive
      damaged(i) = not(damaged(i))
      call szgpu_decompress(ctx, damaged, restored, stat=stat)
      if (stat == SZGPU_OK) exit
    end do
    call check(stat /= SZGPU_OK .and. size(archive) > 200, 'a damaged byte is noticed')
    call szgpu_decompress(ctx, archive(:size(archive) - 1), restored, stat=stat)
    call check_refusal('a truncated archive', stat, SZGPU_TRUNCATED)
    call szgpu_decompress(ctx, [archive, 0_int8], restored, stat=stat)
    call check_refusal('a byte too many', stat, SZGPU_TRAILING_BYTES)
    call szgpu_decompress(ctx, [(int(i, int8), i=1, 100)], restored, stat=stat)
    call check_refusal('no archive', stat, SZGPU_NOT_AN_ARCHIVE, szgpu_last_error(ctx), '')
    call szgpu_inspect([(int(i, int8), i=1, 100)], info, stat)
    call check_refusal('inspecting no archive', stat, SZGPU_NOT_AN_ARCHIVE)
    call szgpu_inspect(archive(1:0), info, stat)
    call check(stat /= SZGPU_OK, 'inspecting nothing')
    call szgpu_inspect(missing, info, stat)
    call check_refusal('inspecting what is not allocated', stat, SZGPU_BAD_ARGUMENT)
    call check(size(szgpu_extents(info)) == 0, 'no extents without an archive')
    call szgpu_decompress(ctx, missing, restored, stat=stat)
    call check_refusal('an archive that is not allocated', stat, SZGPU_BAD_ARGUMENT, &
                       szgpu_last_error(ctx), 'the archive is not allocated')
    call szgpu_decompress(ctx, archive, restored, stat=stat)
    call check(stat == SZGPU_OK, 'the ctx restores the archive after all that')
  end subroutine

  subroutine test_bad_options()
    type(szgpu_ctx) :: ctx
    integer(int8), allocatable :: archive(:)
    real(real32), allocatable :: field(:)
    integer :: stat

    allocate (field(100000), source=1.0)
    call szgpu_create(ctx, threads=SZGPU_MAX_THREADS + 1, stat=stat)
    call check_refusal('too many threads', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_create(ctx, options=szgpu_options(memory_limit=1000_c_int64_t))
    call szgpu_compress(ctx, field, archive, stat=stat)
    call check_refusal('a limit of memory', stat, SZGPU_MEMORY_LIMIT)
    call szgpu_create(ctx, options=szgpu_options(progress=c_funloc(stop_at_once)))
    call szgpu_compress(ctx, field, archive, stat=stat)
    call check_refusal('a progress callback', stat, SZGPU_CANCELLED)
    call szgpu_destroy(ctx)
    call szgpu_destroy(ctx)
    call szgpu_compress(ctx, field, archive, stat=stat)
    call check(stat == SZGPU_OK, 'a ctx that was freed is created again')
  end subroutine

  integer(c_int) function stop_at_once(user, done_values, total_values) bind(C)
    type(c_ptr), value :: user
    integer(c_int64_t), value :: done_values, total_values

    stop_at_once = merge(1, 0, total_values >= done_values .and. .not. c_associated(user))
  end function

  subroutine test_bad_series(folder)
    character(*), intent(in) :: folder
    type(szgpu_ctx) :: ctx
    type(szgpu_series) :: series, second
    type(szgpu_step) :: step
    type(szgpu_info) :: info
    character(:), allocatable :: path
    integer(int8), allocatable :: bytes(:)
    real(real32) :: field(100)
    integer :: stat

    path = folder // '/bad.szgs'
    call remove(path)
    field = 1
    call szgpu_series_append(series, ctx, field, stat=stat)
    call check_refusal('a series that is not open', stat, SZGPU_BAD_ARGUMENT)
    call check(szgpu_series_count(series) == 0, 'a series that is not open has no steps')
    call szgpu_series_open(series, path, stat=stat)
    call check_refusal('a missing file', stat, SZGPU_SOURCE_FAILED, szgpu_last_error(series), &
                       path // ': No such file or directory')

    call szgpu_series_open(series, path, append=.true.)
    call szgpu_series_append(series, ctx, field, name='first', time=1.5d0)
    call szgpu_series_append(series, ctx, field)
    call szgpu_series_step(series, 1, step)
    call check(szgpu_step_name(step) == 'first' .and. step%has_time == 1 .and. &
               abs(step%time - 1.5d0) <= 0, 'name and time of a step')
    call szgpu_series_step(series, 2, step)
    call check(szgpu_step_name(step) == '' .and. step%has_time == 0, 'a step without them')
    call szgpu_series_append(series, ctx, field, bound=-1d0, stat=stat)
    call check_refusal('a negative bound', stat, SZGPU_BAD_BOUND)
    call szgpu_series_append(series, ctx, field, name=repeat('n', 256), stat=stat)
    call check_refusal('a long name', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_series_open(second, path, append=.true., stat=stat)
    call check_refusal('a second program that appends', stat, SZGPU_LOCKED)
    call szgpu_series_read(series, ctx, 0, field, stat=stat)
    call check_refusal('step 0', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_series_read(series, ctx, 3, field, stat=stat)
    call check_refusal('a step after the last', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_series_step(series, 3, step, stat)
    call check_refusal('the record of a step after the last', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_series_inspect(series, huge(0), info, stat)
    call check_refusal('the header of a step after the last', stat, SZGPU_BAD_ARGUMENT)
    call szgpu_series_read(series, ctx, 1, field(:50), stat=stat)
    call check_refusal('a step of another shape', stat, SZGPU_BAD_ARGUMENT, szgpu_last_error(ctx), &
      'the archive holds f32 of shape (100), the array f32 of shape (50)')
    call check(szgpu_series_end(series) == SZGPU_OK, 'nothing follows the last step')
    call szgpu_series_close(series)

    call szgpu_series_open(series, path)
    call szgpu_series_append(series, ctx, field, stat=stat)
    call check_refusal('an append without append=.true.', stat, SZGPU_BAD_ARGUMENT)
    bytes = read_bytes(path)
    call write_bytes(path, bytes(:size(bytes) - 10))
    call szgpu_series_open(series, path, append=.true.)
    call check(szgpu_series_count(series) == 1, 'a step that was cut short does not count')
    call check(szgpu_series_end(series) == SZGPU_TRUNCATED, 'the end says why')
    call szgpu_series_append(series, ctx, field, stat=stat)
    call check_refusal('an append to a damaged end', stat, SZGPU_TRUNCATED)
    call szgpu_series_cut(series)
    call szgpu_series_append(series, ctx, field, stat=stat)
    call check(stat == SZGPU_OK .and. szgpu_series_count(series) == 2, 'an append after the cut')
    call szgpu_series_close(series)
    call write_bytes(path, [(0_int8, stat=1, 500)])
    call szgpu_series_open(series, path, stat=stat)
    call check_refusal('a file of zeros', stat, SZGPU_NOT_A_SERIES, szgpu_last_error(series), path)
  end subroutine
end module
