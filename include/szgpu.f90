! szgpu.f90 - the module szgpu: the library of szgpu.h and szgpu_series.h for Fortran.
! SPDX-License-Identifier: BSD-3-Clause
!
! Fields are arrays of real32, real64, int8, int16 or int32, of rank 1 to 4; archives are arrays of
! int8. docs/bindings.md has examples and says how to compile.
!
! Order. Memory stays as it is: the first subscript, Fortran's fastest, is the archive's last dim.
! An array of shape (144, 73, 36) is 36 x 73 x 144 values to the command, to C and to Python.
! Subscripts and steps count from 1 here and from 0 there.
!
! Sections. The compiler copies an array that is not contiguous before a call, and back after it if
! the call restores values.
!
! Errors. If `stat` is present, it gets the status, and szgpu_last_error has a sentence about it.
! Without `stat`, the program ends with that sentence (error stop). After an error, an archive is
! not allocated, and the contents of other results are undefined.
!
! Memory. A szgpu_ctx and a szgpu_series free what they hold when their scope ends, or by
! szgpu_destroy and szgpu_series_close. They cannot be copied. The first call with a ctx that was
! not created creates it with the default options.
!
! Fortran 2018.
module szgpu
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  private

  ! --- What the headers declare. The test fortran_layout compares names, values, layout and
  ! --- defaults with them; they say what everything means.

  integer(c_int), parameter, public :: &
    SZGPU_OK = 0, SZGPU_BAD_ARGUMENT = 1, SZGPU_BAD_SHAPE = 2, SZGPU_BAD_BOUND = 3, &
    SZGPU_UNSUPPORTED = 4, SZGPU_OUT_OF_MEMORY = 5, SZGPU_CAPACITY = 6, SZGPU_NOT_AN_ARCHIVE = 7, &
    SZGPU_NEWER_VERSION = 8, SZGPU_TRUNCATED = 9, SZGPU_TRAILING_BYTES = 10, &
    SZGPU_BAD_CHECKSUM = 11, SZGPU_BAD_DATA = 12, SZGPU_CANCELLED = 13, SZGPU_NO_DEVICE = 14, &
    SZGPU_DEVICE_ERROR = 15, SZGPU_FIELD_CHANGED = 16, SZGPU_MEMORY_LIMIT = 17, &
    SZGPU_SOURCE_FAILED = 18, SZGPU_SINK_FAILED = 19, SZGPU_NOT_A_SERIES = 20, &
    SZGPU_UNFINISHED = 21, SZGPU_LOCKED = 22, SZGPU_OTHER_PARAMS = 23, SZGPU_OTHER_PROCESS = 24, &
    SZGPU_SERIES_CHANGED = 25
  integer(c_int), parameter, public :: &
    SZGPU_F32 = 0, SZGPU_F64 = 1, SZGPU_U8 = 2, SZGPU_BF16 = 3, SZGPU_F16 = 4, SZGPU_FP8 = 5, &
    SZGPU_I8 = 6, SZGPU_U16 = 7, SZGPU_I16 = 8, SZGPU_I32 = 9
  integer(c_int), parameter, public :: &
    SZGPU_MODE_REL = 0, SZGPU_MODE_ABS = 1, SZGPU_MODE_PSNR = 2, SZGPU_MODE_LOSSLESS = 3, &
    SZGPU_MODE_PWREL = 4
  integer(c_int), parameter, public :: &
    SZGPU_LAYOUT_LINEAR = 0, SZGPU_LAYOUT_TILE = 1, &
    SZGPU_PREDICTOR_AUTO = 0, SZGPU_PREDICTOR_LORENZO = 1, SZGPU_PREDICTOR_INTERPOLATION = 2, &
    SZGPU_BACKEND_AUTO = 0, SZGPU_BACKEND_CPU = 1, SZGPU_BACKEND_CUDA = 2
  integer(c_int), parameter, public :: &
    SZGPU_DECODER_AUTO = 0, SZGPU_DECODER_SERIAL = 1, SZGPU_DECODER_TABLE = 2, &
    SZGPU_DECODER_GAP_ARRAY = 3, SZGPU_DECODER_CHUNKED = 4, SZGPU_DECODER_SELF_SYNC = 5, &
    SZGPU_DECODER_ALL_OFFSETS = 6, SZGPU_DECODER_HIERARCHICAL = 7
  integer(c_int), parameter, public :: &
    SZGPU_SOURCE_NPY = 1, SZGPU_SOURCE_FORTRAN = 2, SZGPU_SOURCE_BIG_ENDIAN = 4, &
    SZGPU_SOURCE_EMPTY = 8, SZGPU_SOURCE_ALL = 15
  integer(c_int64_t), parameter, public :: &
    SZGPU_KEEP_MISSING = 1, SZGPU_KEEP_RANGE = 2, SZGPU_KEEP_RESTORED = 4, SZGPU_KEEP_ALL = 7
  integer(c_int), parameter, public :: &
    SZGPU_MOST_MORE_FILLS = 3, SZGPU_MAX_THREADS = 1024, SZGPU_MAX_LEVEL = 6, &
    SZGPU_MOST_STEP_NAME_BYTES = 255
  ! Not SZGPU_SERIES_..., which Fortran cannot tell from the procedures.
  integer(c_int), parameter :: ACCESS_READ = 0, ACCESS_APPEND = 1

  ! dims(1) is the slowest axis, as in C: szgpu_extents gives them in Fortran's order.
  type, bind(C), public :: szgpu_shape
    integer(c_int) :: dtype = SZGPU_F32
    integer(c_int) :: ndim = 0
    integer(c_int64_t) :: dims(4) = 0
  end type

  ! Name only what you change: szgpu_params(mode=SZGPU_MODE_ABS, bound=0.01d0, zstd_level=3). The
  ! calls set struct_bytes, here and below.
  type, bind(C), public :: szgpu_params
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int) :: mode = SZGPU_MODE_REL
    integer(c_int) :: layout = SZGPU_LAYOUT_TILE
    real(c_double) :: bound = 1e-4_c_double
    integer(c_int64_t) :: frame_rows = 0
    integer(c_int32_t) :: radius = 0
    integer(c_int32_t) :: source = 0
    integer(c_int) :: zstd_level = 0
    integer(c_int) :: has_fill = 0
    real(c_double) :: fill = 0
    integer(c_int) :: without_gaps = 0
    integer(c_int) :: predictor = SZGPU_PREDICTOR_AUTO
    real(c_double) :: greatest = 0
    integer(c_int) :: raw_outliers = 0
    integer(c_int64_t) :: keep = 0
    integer(c_int32_t) :: more_fill_count = 0
    real(c_double) :: more_fills(SZGPU_MOST_MORE_FILLS) = 0
    integer(c_int) :: has_valid = 0
    real(c_double) :: valid_least = 0
    real(c_double) :: valid_greatest = 0
  end type

  type, bind(C), public :: szgpu_options
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int) :: backend = SZGPU_BACKEND_AUTO
    integer(c_int) :: device = 0
    integer(c_int) :: threads = 0
    integer(c_int) :: decoder = SZGPU_DECODER_AUTO
    type(c_ptr) :: stream = c_null_ptr
    type(c_funptr) :: progress = c_null_funptr ! int f(void *, uint64_t, uint64_t), by value
    type(c_ptr) :: progress_user = c_null_ptr
    integer(c_int64_t) :: memory_limit = 0
  end type

  type, bind(C), public :: szgpu_info
    integer(c_size_t) :: struct_bytes = 0
    type(szgpu_shape) :: shape
    integer(c_int) :: mode = SZGPU_MODE_REL
    integer(c_int) :: layout = SZGPU_LAYOUT_LINEAR
    integer(c_int32_t) :: format_version = 0
    integer(c_int32_t) :: source = 0
    real(c_double) :: bound = 0
    real(c_double) :: absolute_bound = 0
    real(c_double) :: step = 0
    real(c_double) :: value_range = 0
    integer(c_int) :: has_fill = 0
    real(c_double) :: fill = 0
    integer(c_int64_t) :: fill_bits = 0
    integer(c_int64_t) :: frame_rows = 0
    integer(c_int64_t) :: frame_count = 0
    integer(c_int64_t) :: field_bytes = 0
    integer(c_int64_t) :: archive_bytes = 0
    integer(c_int) :: has_gaps = 0
    real(c_double) :: least = 0
    real(c_double) :: greatest = 0
    integer(c_int) :: has_limits = 0
    integer(c_int32_t) :: more_fill_count = 0
    real(c_double) :: more_fills(SZGPU_MOST_MORE_FILLS) = 0
    integer(c_int64_t) :: more_fill_bits(SZGPU_MOST_MORE_FILLS) = 0
    integer(c_int32_t) :: joined_axes = 0 ! bit i: dims(i + 1) and dims(i + 2)
  end type

  ! szgpu_step_name gives the name as text.
  type, bind(C), public :: szgpu_step
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int64_t) :: archive_offset = 0
    integer(c_int64_t) :: archive_bytes = 0
    integer(c_int) :: has_time = 0
    real(c_double) :: time = 0
    character(kind=c_char) :: name(SZGPU_MOST_STEP_NAME_BYTES + 1) = c_null_char
  end type

  type, bind(C) :: szgpu_label
    type(c_ptr) :: name = c_null_ptr
    integer(c_int) :: has_time = 0
    real(c_double) :: time = 0
  end type

  type, bind(C) :: szgpu_region
    integer(c_int64_t) :: first(4) = 0
    integer(c_int64_t) :: count(4) = 0
  end type

  ! By status and by dtype, from 0.
  character(*), parameter :: status_names(0:25) = [character(20) :: &
    'SZGPU_OK', 'SZGPU_BAD_ARGUMENT', 'SZGPU_BAD_SHAPE', 'SZGPU_BAD_BOUND', 'SZGPU_UNSUPPORTED', &
    'SZGPU_OUT_OF_MEMORY', 'SZGPU_CAPACITY', 'SZGPU_NOT_AN_ARCHIVE', 'SZGPU_NEWER_VERSION', &
    'SZGPU_TRUNCATED', 'SZGPU_TRAILING_BYTES', 'SZGPU_BAD_CHECKSUM', 'SZGPU_BAD_DATA', &
    'SZGPU_CANCELLED', 'SZGPU_NO_DEVICE', 'SZGPU_DEVICE_ERROR', 'SZGPU_FIELD_CHANGED', &
    'SZGPU_MEMORY_LIMIT', 'SZGPU_SOURCE_FAILED', 'SZGPU_SINK_FAILED', 'SZGPU_NOT_A_SERIES', &
    'SZGPU_UNFINISHED', 'SZGPU_LOCKED', 'SZGPU_OTHER_PARAMS', 'SZGPU_OTHER_PROCESS', &
    'SZGPU_SERIES_CHANGED']
  character(*), parameter :: dtype_names(0:9) = [character(4) :: &
    'f32', 'f64', 'u8', 'bf16', 'f16', 'fp8', 'i8', 'u16', 'i16', 'i32']

  ! --- Objects ----------------------------------------------------------------------------------

  type :: reporter
    private
    character(:), allocatable :: sentence ! why the last call failed
  end type

  type, extends(reporter), public :: szgpu_ctx
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure, private :: refuse_ctx_copy
    generic :: assignment(=) => refuse_ctx_copy
    final :: szgpu_destroy
  end type

  type, extends(reporter), public :: szgpu_series
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure, private :: refuse_series_copy
    generic :: assignment(=) => refuse_series_copy
    final :: szgpu_series_close
  end type

  ! --- Procedures -------------------------------------------------------------------------------

  public :: szgpu_create, szgpu_destroy, szgpu_last_error, szgpu_last_note
  public :: szgpu_compress, szgpu_decompress, szgpu_inspect, szgpu_extents
  public :: szgpu_series_open, szgpu_series_close, szgpu_series_count, szgpu_series_append
  public :: szgpu_series_read, szgpu_series_inspect, szgpu_series_step, szgpu_step_name
  public :: szgpu_series_end, szgpu_series_cut
  public :: szgpu_status_name, szgpu_status_text, szgpu_dtype_name
  public :: szgpu_version, szgpu_has_cuda, szgpu_device_count

  ! szgpu_compress(ctx, field, archive [, bound, mode, params, stat]): `params` has the settings, by
  ! default the library's; `bound` and `mode` replace those of `params`.
  interface szgpu_compress
    module procedure compress_real32, compress_real64, compress_int8, &
      compress_int16, compress_int32
  end interface

  ! szgpu_decompress(ctx, archive, field [, first, level, stat]): restores values into an array of
  ! the type and the shape of the archive; with `level`, a preview, whose shape is
  ! szgpu_extents(info, level). With `first`, the array takes the box of its own shape that begins
  ! at these subscripts, one for each dim.
  interface szgpu_decompress
    module procedure decompress_real32, decompress_real64, decompress_int8, &
      decompress_int16, decompress_int32
  end interface

  ! szgpu_series_append(series, ctx, field [, bound, mode, params, name, time, stat]): as
  ! szgpu_compress. The step is on disk when the call returns.
  interface szgpu_series_append
    module procedure append_real32, append_real64, append_int8, &
      append_int16, append_int32
  end interface

  ! szgpu_series_read(series, ctx, index, field [, first, level, stat]): as szgpu_decompress.
  interface szgpu_series_read
    module procedure read_real32, read_real64, read_int8, &
      read_int16, read_int32
  end interface

  interface
    integer(c_int) function c_create(ctx, options) bind(C, name='szgpu_create')
      import
      type(c_ptr), intent(out) :: ctx
      type(szgpu_options), intent(in) :: options
    end function
    subroutine c_destroy(ctx) bind(C, name='szgpu_destroy')
      import
      type(c_ptr), value :: ctx
    end subroutine
    type(c_ptr) function c_status_text(status) bind(C, name='szgpu_status_text')
      import
      integer(c_int), value :: status
    end function
    type(c_ptr) function c_last_error(ctx) bind(C, name='szgpu_last_error')
      import
      type(c_ptr), value :: ctx
    end function
    type(c_ptr) function c_last_note(ctx) bind(C, name='szgpu_last_note')
      import
      type(c_ptr), value :: ctx
    end function
    type(c_ptr) function c_version() bind(C, name='szgpu_version')
      import
    end function
    integer(c_int) function c_has_cuda() bind(C, name='szgpu_has_cuda')
      import
    end function
    integer(c_int) function c_device_count() bind(C, name='szgpu_device_count')
      import
    end function
    integer(c_int) function c_sizes(ctx, params, shape, workspace_bytes, archive_bytes) &
        bind(C, name='szgpu_sizes')
      import
      type(c_ptr), value :: ctx
      type(szgpu_params), intent(in) :: params
      type(szgpu_shape), intent(in) :: shape
      type(c_ptr), value :: workspace_bytes
      integer(c_size_t), intent(out) :: archive_bytes
    end function
    integer(c_int) function c_compress(ctx, params, shape, field, archive, capacity, &
        archive_bytes) bind(C, name='szgpu_compress')
      import
      type(c_ptr), value :: ctx, field
      type(szgpu_params), intent(in) :: params
      type(szgpu_shape), intent(in) :: shape
      integer(c_int8_t), intent(inout) :: archive(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: archive_bytes
    end function
    integer(c_int) function c_decompress_region(ctx, archive, archive_bytes, level, region, field, &
        field_bytes) bind(C, name='szgpu_decompress_region')
      import
      type(c_ptr), value :: ctx, archive, field
      integer(c_size_t), value :: archive_bytes, field_bytes
      integer(c_int), value :: level
      type(szgpu_region), intent(in) :: region
    end function
    integer(c_int) function c_decompress_level(ctx, archive, archive_bytes, level, field, &
        field_bytes) bind(C, name='szgpu_decompress_level')
      import
      type(c_ptr), value :: ctx, archive, field
      integer(c_size_t), value :: archive_bytes, field_bytes
      integer(c_int), value :: level
    end function
    integer(c_int) function c_inspect(archive, archive_bytes, info) bind(C, name='szgpu_inspect')
      import
      type(c_ptr), value :: archive
      integer(c_size_t), value :: archive_bytes
      type(szgpu_info), intent(inout) :: info
    end function
    integer(c_int) function c_level_shape(info, level, shape) bind(C, name='szgpu_level_shape')
      import
      type(szgpu_info), intent(in) :: info
      integer(c_int), value :: level
      type(szgpu_shape), intent(inout) :: shape
    end function

    integer(c_int) function c_series_open(series, path, access, error_number) &
        bind(C, name='szgpu_series_open_file')
      import
      type(c_ptr), intent(out) :: series
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: access
      integer(c_int), intent(out) :: error_number
    end function
    subroutine c_series_close(series) bind(C, name='szgpu_series_close')
      import
      type(c_ptr), value :: series
    end subroutine
    integer(c_int64_t) function c_series_count(series) bind(C, name='szgpu_series_count')
      import
      type(c_ptr), value :: series
    end function
    integer(c_int) function c_series_errno(series) bind(C, name='szgpu_series_errno')
      import
      type(c_ptr), value :: series
    end function
    integer(c_int) function c_series_step(series, index, step) bind(C, name='szgpu_series_step')
      import
      type(c_ptr), value :: series
      integer(c_int64_t), value :: index
      type(szgpu_step), intent(inout) :: step
    end function
    integer(c_int) function c_series_end(series, step) bind(C, name='szgpu_series_end')
      import
      type(c_ptr), value :: series, step
    end function
    integer(c_int) function c_series_cut(series) bind(C, name='szgpu_series_cut')
      import
      type(c_ptr), value :: series
    end function
    integer(c_int) function c_series_inspect(series, index, info) &
        bind(C, name='szgpu_series_inspect')
      import
      type(c_ptr), value :: series
      integer(c_int64_t), value :: index
      type(szgpu_info), intent(inout) :: info
    end function
    integer(c_int) function c_series_read(series, ctx, index, level, region, field, field_bytes) &
        bind(C, name='szgpu_series_read')
      import
      type(c_ptr), value :: series, ctx, region, field
      integer(c_int64_t), value :: index
      integer(c_int), value :: level
      integer(c_size_t), value :: field_bytes
    end function
    integer(c_int) function c_series_append(series, ctx, params, shape, field, label) &
        bind(C, name='szgpu_series_append')
      import
      type(c_ptr), value :: series, ctx, field
      type(szgpu_params), intent(in) :: params
      type(szgpu_shape), intent(in) :: shape
      type(szgpu_label), intent(in) :: label
    end function

    integer(c_size_t) function c_strlen(text) bind(C, name='strlen')
      import
      type(c_ptr), value :: text
    end function
    type(c_ptr) function c_strerror(error_number) bind(C, name='strerror')
      import
      integer(c_int), value :: error_number
    end function
  end interface

contains

  ! --- A ctx ------------------------------------------------------------------------------------

  ! Creates a ctx; one that exists is freed first. `threads` replaces that of `options`.
  subroutine szgpu_create(ctx, threads, options, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in), optional :: threads
    type(szgpu_options), intent(in), optional :: options
    integer, intent(out), optional :: stat
    type(szgpu_options) :: settings
    integer :: status

    call szgpu_destroy(ctx)
    if (present(options)) settings = options
    if (present(threads)) settings%threads = threads
    settings%struct_bytes = c_sizeof(settings)
    status = c_create(ctx%handle, settings)
    call finish_ctx(ctx, status, stat)
  end subroutine

  impure elemental subroutine szgpu_destroy(ctx)
    type(szgpu_ctx), intent(inout) :: ctx

    call c_destroy(ctx%handle)
    ctx%handle = c_null_ptr
    if (allocated(ctx%sentence)) deallocate (ctx%sentence)
  end subroutine

  ! Why the last call with this ctx or series failed; '' if it did not, or there is nothing to add
  ! to its status.
  function szgpu_last_error(object) result(sentence)
    class(reporter), intent(in) :: object
    character(:), allocatable :: sentence

    sentence = ''
    if (allocated(object%sentence)) sentence = object%sentence
  end function

  ! Why SZGPU_BACKEND_AUTO left the GPU for the CPU in the last call; '' if it did not.
  function szgpu_last_note(ctx) result(note)
    type(szgpu_ctx), intent(in) :: ctx
    character(:), allocatable :: note

    note = text_at(c_last_note(ctx%handle))
  end function

  subroutine refuse_ctx_copy(to, from)
    class(szgpu_ctx), intent(inout) :: to
    type(szgpu_ctx), intent(in) :: from

    if (c_associated(from%handle) .or. c_associated(to%handle)) &
      error stop 'szgpu: a szgpu_ctx cannot be copied.'
  end subroutine

  ! --- Archives ---------------------------------------------------------------------------------

  ! What an archive's header says. Only the header is needed.
  subroutine szgpu_inspect(archive, info, stat)
    integer(int8), intent(in), contiguous, target :: archive(:)
    type(szgpu_info), intent(out) :: info
    integer, intent(out), optional :: stat
    type(reporter) :: about
    integer :: status

    status = inspect(about, archive, info)
    call finish(about, status, stat)
  end subroutine

  ! The shape of the array that an archive or, with `level`, its preview has room in. Empty if
  ! `level` or `info` is not valid.
  function szgpu_extents(info, level) result(extents)
    type(szgpu_info), intent(in) :: info
    integer, intent(in), optional :: level
    integer(int64), allocatable :: extents(:)
    type(szgpu_shape) :: shape

    if (c_level_shape(info, level_of(level), shape) /= SZGPU_OK) shape%ndim = 0
    extents = shape%dims(shape%ndim:1:-1)
  end function

  subroutine compress_bytes(ctx, field, shape, archive, bound, mode, params, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    type(c_ptr), intent(in) :: field
    type(szgpu_shape), intent(in) :: shape
    integer(int8), allocatable, intent(out) :: archive(:)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    type(szgpu_params) :: settings
    integer(int8), allocatable :: buffer(:)
    integer(c_size_t) :: capacity, archive_bytes
    integer :: status, failed

    failed = 0
    settings = settings_of(bound, mode, params)
    status = ready(ctx, field)
    if (status == SZGPU_OK) &
      status = c_sizes(ctx%handle, settings, shape, c_null_ptr, capacity)
    if (status == SZGPU_OK) allocate (buffer(capacity), stat=failed)
    if (allocated(buffer)) status = c_compress(ctx%handle, settings, shape, field, buffer, &
                                               capacity, archive_bytes)
    if (status == SZGPU_OK .and. failed == 0) allocate (archive(archive_bytes), stat=failed)
    if (status == SZGPU_OK .and. failed == 0) archive = buffer(:archive_bytes)
    if (failed /= 0) then
      status = SZGPU_OUT_OF_MEMORY
      ctx%sentence = 'the archive takes up to ' // decimal(int(capacity, int64)) // ' bytes'
    end if
    call finish_ctx(ctx, status, stat)
  end subroutine

  subroutine compress_real32(ctx, field, archive, bound, mode, params, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    real(real32), intent(in), contiguous, target :: field(..)
    integer(int8), allocatable, intent(out) :: archive(:)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    call compress_bytes(ctx, c_loc(field), shape_of(SZGPU_F32, shape(field, kind=int64)), &
                        archive, bound, mode, params, stat)
  end subroutine

  subroutine compress_real64(ctx, field, archive, bound, mode, params, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    real(real64), intent(in), contiguous, target :: field(..)
    integer(int8), allocatable, intent(out) :: archive(:)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    call compress_bytes(ctx, c_loc(field), shape_of(SZGPU_F64, shape(field, kind=int64)), &
                        archive, bound, mode, params, stat)
  end subroutine

  subroutine compress_int8(ctx, field, archive, bound, mode, params, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: field(..)
    integer(int8), allocatable, intent(out) :: archive(:)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    call compress_bytes(ctx, c_loc(field), shape_of(SZGPU_I8, shape(field, kind=int64)), &
                        archive, bound, mode, params, stat)
  end subroutine

  subroutine compress_int16(ctx, field, archive, bound, mode, params, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int16), intent(in), contiguous, target :: field(..)
    integer(int8), allocatable, intent(out) :: archive(:)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    call compress_bytes(ctx, c_loc(field), shape_of(SZGPU_I16, shape(field, kind=int64)), &
                        archive, bound, mode, params, stat)
  end subroutine

  subroutine compress_int32(ctx, field, archive, bound, mode, params, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int32), intent(in), contiguous, target :: field(..)
    integer(int8), allocatable, intent(out) :: archive(:)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    call compress_bytes(ctx, c_loc(field), shape_of(SZGPU_I32, shape(field, kind=int64)), &
                        archive, bound, mode, params, stat)
  end subroutine

  subroutine decompress_bytes(ctx, archive, field, shape, first, level, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: archive(:)
    type(c_ptr), intent(in) :: field
    type(szgpu_shape), intent(in) :: shape
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    type(szgpu_info) :: info
    type(szgpu_region) :: region
    integer(c_size_t) :: archive_bytes, field_bytes
    integer :: status

    archive_bytes = size(archive, kind=c_size_t)
    status = ready(ctx, field)
    if (status == SZGPU_OK) status = inspect(ctx, archive, info)
    if (status == SZGPU_OK) status = fit(ctx, info, shape, first, level, region, field_bytes)
    if (status /= SZGPU_OK) then
      continue
    else if (present(first)) then
      status = c_decompress_region(ctx%handle, c_loc(archive), archive_bytes, level_of(level), &
                                   region, field, field_bytes)
    else
      status = c_decompress_level(ctx%handle, c_loc(archive), archive_bytes, level_of(level), &
                                  field, field_bytes)
    end if
    call finish_ctx(ctx, status, stat)
  end subroutine

  subroutine decompress_real32(ctx, archive, field, first, level, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: archive(:)
    real(real32), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call decompress_bytes(ctx, archive, c_loc(field), shape_of(SZGPU_F32, shape(field, &
                          kind=int64)), first, level, stat)
  end subroutine

  subroutine decompress_real64(ctx, archive, field, first, level, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: archive(:)
    real(real64), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call decompress_bytes(ctx, archive, c_loc(field), shape_of(SZGPU_F64, shape(field, &
                          kind=int64)), first, level, stat)
  end subroutine

  subroutine decompress_int8(ctx, archive, field, first, level, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: archive(:)
    integer(int8), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call decompress_bytes(ctx, archive, c_loc(field), shape_of(SZGPU_I8, shape(field, &
                          kind=int64)), first, level, stat)
  end subroutine

  subroutine decompress_int16(ctx, archive, field, first, level, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: archive(:)
    integer(int16), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call decompress_bytes(ctx, archive, c_loc(field), shape_of(SZGPU_I16, shape(field, &
                          kind=int64)), first, level, stat)
  end subroutine

  subroutine decompress_int32(ctx, archive, field, first, level, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: archive(:)
    integer(int32), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call decompress_bytes(ctx, archive, c_loc(field), shape_of(SZGPU_I32, shape(field, &
                          kind=int64)), first, level, stat)
  end subroutine

  ! --- Series of steps --------------------------------------------------------------------------

  ! Opens a file; one that is open is closed first. With append=.true. a missing file is created.
  subroutine szgpu_series_open(series, path, append, stat)
    type(szgpu_series), intent(inout) :: series
    character(*), intent(in) :: path
    logical, intent(in), optional :: append
    integer, intent(out), optional :: stat
    integer(c_int) :: access, error_number
    integer :: status

    call szgpu_series_close(series)
    access = ACCESS_READ
    if (present(append)) access = merge(ACCESS_APPEND, ACCESS_READ, append)
    status = c_series_open(series%handle, trim(path) // c_null_char, access, error_number)
    if (status /= SZGPU_OK) then
      series%sentence = trim(path)
      if (error_number /= 0) series%sentence = series%sentence // ': ' // &
        text_at(c_strerror(error_number))
    end if
    call finish(series, status, stat)
  end subroutine

  impure elemental subroutine szgpu_series_close(series)
    type(szgpu_series), intent(inout) :: series

    call c_series_close(series%handle)
    series%handle = c_null_ptr
    if (allocated(series%sentence)) deallocate (series%sentence)
  end subroutine

  ! The number of finished steps; 0 if no file is open.
  integer function szgpu_series_count(series)
    type(szgpu_series), intent(in) :: series

    szgpu_series_count = int(min(c_series_count(series%handle), int(huge(0), int64)))
  end function

  subroutine szgpu_series_inspect(series, index, info, stat)
    type(szgpu_series), intent(inout) :: series
    integer, intent(in) :: index
    type(szgpu_info), intent(out) :: info
    integer, intent(out), optional :: stat
    integer :: status

    info%struct_bytes = c_sizeof(info)
    status = c_series_inspect(series%handle, from_0(index), info)
    call finish_series(series, status, stat)
  end subroutine

  ! Name, time and place of a step.
  subroutine szgpu_series_step(series, index, step, stat)
    type(szgpu_series), intent(inout) :: series
    integer, intent(in) :: index
    type(szgpu_step), intent(out) :: step
    integer, intent(out), optional :: stat
    integer :: status

    step%struct_bytes = c_sizeof(step)
    status = c_series_step(series%handle, from_0(index), step)
    call finish_series(series, status, stat)
  end subroutine

  function szgpu_step_name(step) result(name)
    type(szgpu_step), intent(in), target :: step
    character(:), allocatable :: name

    name = text_at(c_loc(step%name))
  end function

  ! What follows the last finished step: SZGPU_OK, if nothing does.
  integer function szgpu_series_end(series)
    type(szgpu_series), intent(in) :: series

    szgpu_series_end = c_series_end(series%handle, c_null_ptr)
  end function

  ! Cuts off what follows the last finished step.
  subroutine szgpu_series_cut(series, stat)
    type(szgpu_series), intent(inout) :: series
    integer, intent(out), optional :: stat
    integer :: status

    status = c_series_cut(series%handle)
    call finish_series(series, status, stat)
  end subroutine

  subroutine refuse_series_copy(to, from)
    class(szgpu_series), intent(inout) :: to
    type(szgpu_series), intent(in) :: from

    if (c_associated(from%handle) .or. c_associated(to%handle)) &
      error stop 'szgpu: a szgpu_series cannot be copied.'
  end subroutine

  subroutine append_bytes(series, ctx, field, shape, bound, mode, params, name, time, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    type(c_ptr), intent(in) :: field
    type(szgpu_shape), intent(in) :: shape
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    character(*), intent(in), optional :: name
    real(real64), intent(in), optional :: time
    integer, intent(out), optional :: stat
    type(szgpu_label) :: label
    character(:, kind=c_char), allocatable, target :: name_in_c
    integer :: status

    if (present(name)) then
      name_in_c = trim(name) // c_null_char
      label%name = c_loc(name_in_c)
    end if
    if (present(time)) then
      label%has_time = 1
      label%time = time
    end if
    status = ready(ctx, field)
    if (status == SZGPU_OK) &
      status = c_series_append(series%handle, ctx%handle, settings_of(bound, mode, params), shape, &
                               field, label)
    call finish_ctx(ctx, status, stat)
  end subroutine

  subroutine append_real32(series, ctx, field, bound, mode, params, name, time, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    real(real32), intent(in), contiguous, target :: field(..)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    character(*), intent(in), optional :: name
    real(real64), intent(in), optional :: time
    integer, intent(out), optional :: stat
    call append_bytes(series, ctx, c_loc(field), shape_of(SZGPU_F32, shape(field, kind=int64)), &
                      bound, mode, params, name, time, stat)
  end subroutine

  subroutine append_real64(series, ctx, field, bound, mode, params, name, time, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    real(real64), intent(in), contiguous, target :: field(..)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    character(*), intent(in), optional :: name
    real(real64), intent(in), optional :: time
    integer, intent(out), optional :: stat
    call append_bytes(series, ctx, c_loc(field), shape_of(SZGPU_F64, shape(field, kind=int64)), &
                      bound, mode, params, name, time, stat)
  end subroutine

  subroutine append_int8(series, ctx, field, bound, mode, params, name, time, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int8), intent(in), contiguous, target :: field(..)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    character(*), intent(in), optional :: name
    real(real64), intent(in), optional :: time
    integer, intent(out), optional :: stat
    call append_bytes(series, ctx, c_loc(field), shape_of(SZGPU_I8, shape(field, kind=int64)), &
                      bound, mode, params, name, time, stat)
  end subroutine

  subroutine append_int16(series, ctx, field, bound, mode, params, name, time, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int16), intent(in), contiguous, target :: field(..)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    character(*), intent(in), optional :: name
    real(real64), intent(in), optional :: time
    integer, intent(out), optional :: stat
    call append_bytes(series, ctx, c_loc(field), shape_of(SZGPU_I16, shape(field, kind=int64)), &
                      bound, mode, params, name, time, stat)
  end subroutine

  subroutine append_int32(series, ctx, field, bound, mode, params, name, time, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer(int32), intent(in), contiguous, target :: field(..)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params
    character(*), intent(in), optional :: name
    real(real64), intent(in), optional :: time
    integer, intent(out), optional :: stat
    call append_bytes(series, ctx, c_loc(field), shape_of(SZGPU_I32, shape(field, kind=int64)), &
                      bound, mode, params, name, time, stat)
  end subroutine

  subroutine read_bytes(series, ctx, index, field, shape, first, level, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in) :: index
    type(c_ptr), intent(in) :: field
    type(szgpu_shape), intent(in) :: shape
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    type(szgpu_info) :: info
    type(szgpu_region), target :: region
    type(c_ptr) :: region_at
    integer(c_size_t) :: field_bytes
    integer :: status

    region_at = c_null_ptr
    if (present(first)) region_at = c_loc(region)
    status = ready(ctx, field)
    if (status == SZGPU_OK) then
      call szgpu_series_inspect(series, index, info, status)
      if (status /= SZGPU_OK) ctx%sentence = szgpu_last_error(series)
    end if
    if (status == SZGPU_OK) status = fit(ctx, info, shape, first, level, region, field_bytes)
    if (status == SZGPU_OK) &
      status = c_series_read(series%handle, ctx%handle, from_0(index), level_of(level), region_at, &
                             field, field_bytes)
    call finish_ctx(ctx, status, stat)
  end subroutine

  subroutine read_real32(series, ctx, index, field, first, level, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in) :: index
    real(real32), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call read_bytes(series, ctx, index, c_loc(field), shape_of(SZGPU_F32, shape(field, &
                    kind=int64)), first, level, stat)
  end subroutine

  subroutine read_real64(series, ctx, index, field, first, level, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in) :: index
    real(real64), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call read_bytes(series, ctx, index, c_loc(field), shape_of(SZGPU_F64, shape(field, &
                    kind=int64)), first, level, stat)
  end subroutine

  subroutine read_int8(series, ctx, index, field, first, level, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in) :: index
    integer(int8), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call read_bytes(series, ctx, index, c_loc(field), shape_of(SZGPU_I8, shape(field, &
                    kind=int64)), first, level, stat)
  end subroutine

  subroutine read_int16(series, ctx, index, field, first, level, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in) :: index
    integer(int16), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call read_bytes(series, ctx, index, c_loc(field), shape_of(SZGPU_I16, shape(field, &
                    kind=int64)), first, level, stat)
  end subroutine

  subroutine read_int32(series, ctx, index, field, first, level, stat)
    type(szgpu_series), intent(inout) :: series
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in) :: index
    integer(int32), intent(inout), contiguous, target :: field(..)
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    integer, intent(out), optional :: stat
    call read_bytes(series, ctx, index, c_loc(field), shape_of(SZGPU_I32, shape(field, &
                    kind=int64)), first, level, stat)
  end subroutine

  ! --- Words and numbers ------------------------------------------------------------------------

  ! 'SZGPU_BAD_BOUND' for SZGPU_BAD_BOUND; 'unknown status' for any other number.
  function szgpu_status_name(status) result(name)
    integer, intent(in) :: status
    character(:), allocatable :: name

    name = 'unknown status'
    if (status >= 0 .and. status <= ubound(status_names, 1)) name = trim(status_names(status))
  end function

  ! 'the error bound is not a finite positive number' for SZGPU_BAD_BOUND.
  function szgpu_status_text(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text

    text = text_at(c_status_text(status))
  end function

  ! 'f32' for SZGPU_F32, as the command says.
  function szgpu_dtype_name(dtype) result(name)
    integer, intent(in) :: dtype
    character(:), allocatable :: name

    name = 'unknown type'
    if (dtype >= 0 .and. dtype <= ubound(dtype_names, 1)) name = trim(dtype_names(dtype))
  end function

  ! The library's version, such as '0.2.0'.
  function szgpu_version() result(version)
    character(:), allocatable :: version

    version = text_at(c_version())
  end function

  logical function szgpu_has_cuda()
    szgpu_has_cuda = c_has_cuda() /= 0
  end function

  integer function szgpu_device_count()
    szgpu_device_count = c_device_count()
  end function

  ! --- What the procedures above share ----------------------------------------------------------

  ! A shape in C's order, of an array's extents.
  type(szgpu_shape) function shape_of(dtype, extents)
    integer(c_int), intent(in) :: dtype
    integer(int64), intent(in) :: extents(:)
    integer :: kept

    kept = min(size(extents), 4) ! the library refuses a larger ndim
    shape_of%dtype = dtype
    shape_of%ndim = size(extents)
    shape_of%dims(:kept) = extents(kept:1:-1)
  end function

  type(szgpu_params) function settings_of(bound, mode, params)
    real(real64), intent(in), optional :: bound
    integer, intent(in), optional :: mode
    type(szgpu_params), intent(in), optional :: params

    if (present(params)) settings_of = params
    if (present(bound)) settings_of%bound = bound
    if (present(mode)) settings_of%mode = mode
    settings_of%struct_bytes = c_sizeof(settings_of)
  end function

  ! Begins a call: creates the ctx if that was not done, drops the sentence of the call before, and
  ! refuses an array that is not allocated.
  integer function ready(ctx, field)
    type(szgpu_ctx), intent(inout) :: ctx
    type(c_ptr), intent(in) :: field

    ready = SZGPU_OK
    if (allocated(ctx%sentence)) deallocate (ctx%sentence)
    if (.not. c_associated(ctx%handle)) call szgpu_create(ctx, stat=ready)
    if (ready == SZGPU_OK .and. .not. c_associated(field)) &
      ready = refused(ctx, 'the array is not allocated')
  end function

  integer function refused(about, sentence)
    class(reporter), intent(inout) :: about
    character(*), intent(in) :: sentence

    about%sentence = sentence
    refused = SZGPU_BAD_ARGUMENT
  end function

  integer function inspect(about, archive, info)
    class(reporter), intent(inout) :: about
    integer(int8), intent(in), contiguous, target :: archive(:)
    type(szgpu_info), intent(out) :: info

    info%struct_bytes = c_sizeof(info)
    if (.not. c_associated(c_loc(archive))) then
      inspect = refused(about, 'the archive is not allocated')
    else
      about%sentence = '' ! a ctx's own would be about another call
      inspect = c_inspect(c_loc(archive), size(archive, kind=c_size_t), info)
      if (inspect == SZGPU_OK) deallocate (about%sentence)
    end if
  end function

  ! Whether an array of this shape takes the values that `info` describes, or those of a box that
  ! begins at `first`, which becomes `region`. field_bytes gets the array's size.
  integer function fit(ctx, info, shape, first, level, region, field_bytes)
    type(szgpu_ctx), intent(inout) :: ctx
    type(szgpu_info), intent(in) :: info
    type(szgpu_shape), intent(in) :: shape
    integer(int64), intent(in), optional :: first(:)
    integer, intent(in), optional :: level
    type(szgpu_region), intent(out) :: region
    integer(c_size_t), intent(out) :: field_bytes
    type(szgpu_shape) :: whole
    integer :: i, n

    field_bytes = 0
    n = info%shape%ndim
    fit = c_level_shape(info, level_of(level), whole)
    if (fit /= SZGPU_OK) then
      fit = refused(ctx, 'level ' // decimal(int(level_of(level), int64)) // ' is not 0 to ' // &
                    decimal(int(SZGPU_MAX_LEVEL, int64)))
    else if (shape%dtype /= whole%dtype .or. shape%ndim /= n) then
      fit = refused(ctx, 'the archive holds ' // described(whole) // ', the array ' // &
                    described(shape))
    else if (.not. present(first)) then
      if (any(shape%dims(:n) /= whole%dims(:n))) &
        fit = refused(ctx, 'the archive holds ' // described(whole) // ', the array ' // &
                      described(shape))
    else if (size(first) /= n) then
      fit = refused(ctx, 'first has ' // decimal(size(first, kind=int64)) // &
                    ' subscripts, the array has ' // decimal(int(n, int64)) // ' dims')
    else
      region%first(:n) = first(n:1:-1) - 1
      region%count = shape%dims
      do i = n, 1, -1
        if (shape%dims(i) < 1 .or. region%first(i) < 0 .or. &
            region%first(i) > whole%dims(i) - shape%dims(i)) &
          fit = refused(ctx, 'subscripts ' // decimal(region%first(i) + 1) // ' to ' // &
                        decimal(region%first(i) + shape%dims(i)) // ' of dim ' // &
                        decimal(n + 1_int64 - i) // ' are not within 1 to ' // &
                        decimal(whole%dims(i)))
      end do
    end if
    if (fit == SZGPU_OK) field_bytes = product(shape%dims(:n)) * &
      (info%field_bytes / product(info%shape%dims(:n)))
  end function

  ! 'f32 of shape (144, 73, 36)'
  function described(shape) result(text)
    type(szgpu_shape), intent(in) :: shape
    character(:), allocatable :: text
    integer :: i

    text = szgpu_dtype_name(shape%dtype)
    if (shape%ndim > 4) then
      text = text // ' of ' // decimal(int(shape%ndim, int64)) // ' dims'
      return
    end if
    text = text // ' of shape ('
    do i = shape%ndim, 1, -1
      text = text // decimal(shape%dims(i))
      if (i > 1) text = text // ', '
    end do
    text = text // ')'
  end function

  function decimal(number) result(text)
    integer(int64), intent(in) :: number
    character(:), allocatable :: text
    character(20) :: buffer

    write (buffer, '(i0)') number
    text = trim(buffer)
  end function

  integer(c_int) function level_of(level)
    integer, intent(in), optional :: level

    level_of = 0
    if (present(level)) level_of = level
  end function

  ! The index of a step in C.
  integer(c_int64_t) function from_0(index)
    integer, intent(in) :: index

    from_0 = int(index, c_int64_t) - 1
  end function

  ! The text at a pointer to char; '' for NULL.
  function text_at(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer :: i

    text = ''
    if (.not. c_associated(pointer)) return
    call c_f_pointer(pointer, bytes, [c_strlen(pointer)])
    text = repeat(' ', size(bytes))
    do i = 1, size(bytes)
      text(i:i) = bytes(i)
    end do
  end function

  ! Ends a call: keeps the sentence on its failure, and gives the status or ends the program.
  subroutine finish_ctx(ctx, status, stat)
    type(szgpu_ctx), intent(inout) :: ctx
    integer, intent(in) :: status
    integer, intent(out), optional :: stat

    if (status /= SZGPU_OK .and. .not. allocated(ctx%sentence)) &
      ctx%sentence = text_at(c_last_error(ctx%handle))
    call finish(ctx, status, stat)
  end subroutine

  subroutine finish_series(series, status, stat)
    type(szgpu_series), intent(inout) :: series
    integer, intent(in) :: status
    integer, intent(out), optional :: stat
    integer(c_int) :: error_number

    if (allocated(series%sentence)) deallocate (series%sentence)
    if (status == SZGPU_SOURCE_FAILED .or. status == SZGPU_SINK_FAILED) then
      error_number = c_series_errno(series%handle)
      if (error_number /= 0) series%sentence = text_at(c_strerror(error_number))
    end if
    call finish(series, status, stat)
  end subroutine

  subroutine finish(about, status, stat)
    class(reporter), intent(in) :: about
    integer, intent(in) :: status
    integer, intent(out), optional :: stat
    character(:), allocatable :: sentence

    if (present(stat)) then
      stat = status
    else if (status /= SZGPU_OK) then
      sentence = szgpu_last_error(about)
      if (sentence /= '') sentence = ': ' // sentence
      error stop 'szgpu: ' // szgpu_status_text(status) // sentence
    end if
  end subroutine
end module
