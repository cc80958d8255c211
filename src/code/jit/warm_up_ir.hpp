// What the compiler is warmed up with.
#pragma once

#include <string_view>

namespace godwit::code::jit {

// Reaches what a small real function reaches: an entry with its refusal, a loop, floating point,
// calls, data, unwind tables. The attributes are clang's: LLVM keeps what it knows of a CPU by
// them.
inline constexpr std::string_view kWarmUpIr = R"(
@text = private unnamed_addr constant [9 x i8] c"too short", align 1
@record = internal constant { i32, i32 } { i32 1, i32 2 }, section "godwit_exports", align 8
@llvm.used = appending global [1 x ptr] [ptr @record], section "llvm.metadata"
declare double @sqrt(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @godwit_warm_up(ptr %values, i64 %size, ptr %reply, ptr %reserve) #0 {
entry:
  %short = icmp ult i64 %size, 8
  br i1 %short, label %refuse, label %sum
refuse:
  %refused = tail call i32 @refuse(ptr %reply, i32 3, ptr @text, i64 9) #1
  ret i32 %refused
sum:
  %total = call double @sum(ptr %values, i64 %size)
  %room = call ptr %reserve(ptr %reply, i64 8) #1
  store double %total, ptr %room, align 1
  ret i32 0
}
define internal i32 @refuse(ptr %reply, i32 %code, ptr %text, i64 %size) #2 {
  %fits = icmp ult i64 %size, 512
  %cut = select i1 %fits, i64 %size, i64 512
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %reply, ptr align 1 %text, i64 %cut, i1 false)
  ret i32 %code
}
define internal double @sum(ptr %values, i64 %size) #2 {
entry:
  %count = udiv i64 %size, 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %total, %loop ]
  %at = getelementptr inbounds double, ptr %values, i64 %i
  %value = load double, ptr %at
  %square = fmul reassoc contract double %value, %value
  %total = fadd reassoc contract double %sum, %square
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  %root = call double @sqrt(double %total)
  ret double %root
}
attributes #0 = { mustprogress nounwind uwtable
  "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #1 = { nounwind }
attributes #2 = { cold mustprogress noinline nounwind optsize uwtable
  "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
)";

}  // namespace godwit::code::jit
