! test_types.F90 - every type and rank through every generic call.
! SPDX-License-Identifier: BSD-3-Clause
module test_types
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use checks
  use szgpu
  implicit none
  private
  public :: test_every_type_and_rank
  character(:), allocatable :: what ! the type and rank that claims are about

#define DISTANCE(a, b) abs(real(a, real64) - real(b, real64))

contains

  subroutine test_every_type_and_rank(folder)
    character(*), intent(in) :: folder
    type(szgpu_series) :: series

    call remove(folder // '/types.szgs')
    call szgpu_series_open(series, folder // '/types.szgs', append=.true.)
    call test_real32(series)
    call test_real64(series)
    call test_int8(series)
    call test_int16(series)
    call test_int32(series)
    call check(szgpu_series_count(series) == 20, 'each type and rank is a step')
  end subroutine

  subroutine check_array(holds, claim)
    logical, intent(in) :: holds
    character(*), intent(in) :: claim

    call check(holds, claim // ', ' // what)
  end subroutine

#define TYPE_OF_VALUES real(real32)
#define OTHER_TYPE real(real64)
#define DTYPE SZGPU_F32
  subroutine test_real32(series)
#include "each_rank.inc"
  end subroutine
#undef TYPE_OF_VALUES
#undef OTHER_TYPE
#undef DTYPE

#define TYPE_OF_VALUES real(real64)
#define OTHER_TYPE integer(int8)
#define DTYPE SZGPU_F64
  subroutine test_real64(series)
#include "each_rank.inc"
  end subroutine
#undef TYPE_OF_VALUES
#undef OTHER_TYPE
#undef DTYPE

#define TYPE_OF_VALUES integer(int8)
#define OTHER_TYPE integer(int16)
#define DTYPE SZGPU_I8
  subroutine test_int8(series)
#include "each_rank.inc"
  end subroutine
#undef TYPE_OF_VALUES
#undef OTHER_TYPE
#undef DTYPE

#define TYPE_OF_VALUES integer(int16)
#define OTHER_TYPE integer(int32)
#define DTYPE SZGPU_I16
  subroutine test_int16(series)
#include "each_rank.inc"
  end subroutine
#undef TYPE_OF_VALUES
#undef OTHER_TYPE
#undef DTYPE

#define TYPE_OF_VALUES integer(int32)
#define OTHER_TYPE real(real32)
#define DTYPE SZGPU_I32
  subroutine test_int32(series)
#include "each_rank.inc"
  end subroutine
#undef TYPE_OF_VALUES
#undef OTHER_TYPE
#undef DTYPE
end module
