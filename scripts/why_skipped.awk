# why_skipped.awk - prints why tests, or cases of tests that passed, were skipped.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: awk -f scripts/why_skipped.awk PRINTED LastTest.log
# PRINTED is the output of ctest; LastTest.log holds that of the tests. Prints each reason once, with
# the names of the tests. A test prints "skipped: reason", with a name before or after the word; one
# that skips as a whole may have its reason in its last line.

function note(reason) {
  if (reason ~ /no (usable )?GPU/) reason = "no usable GPU" # in one wording
  if ((name, reason) in noted) return
  noted[name, reason] = has_reason[name] = 1
  if (!(reason in names)) reasons[++reason_count] = reason
  names[reason] = names[reason] (count[reason]++ ? ", " : "") name
}
FILENAME == ARGV[1] { if (/\*\*\*Skipped/) is_skipped[$4] = 1; next }
/^[0-9]+\/[0-9]+ Testing: / { name = $3 }
/^Output:$/ { in_output = 1; is_said = is_running = 0; last = "it does not say why"; next }
!in_output || /^-*$/ { next }
/^<end of output>$/ {
  if (name in is_skipped && !(name in has_reason)) note(last)
  in_output = 0
  next
}
{ last = $0 }
/^\[ RUN / { is_said = 0; is_running = 1 }
/^\[  SKIPPED / && is_running && !is_said { note($4 " does not say why") }
/^\[=/ { is_running = 0 } # cmocka then lists again what it skipped
match($0, /^ *skipped: /) || match($0, /^skipped [^:]+: /) ||
    match($0, /^[a-z0-9_]+: skipped, /) {
  note(substr($0, RLENGTH + 1))
  is_said = 1
  next
}
/^[a-z0-9_]+: .* skipped, / { note(substr($0, index($0, ": ") + 2)) }
END {
  if (reason_count) print "skipped, and why:"
  for (i = 1; i <= reason_count; i++) {
    reason = reasons[i]
    print "  " (count[reason] > 4 ? count[reason] " tests" : names[reason]) ": " reason
  }
}
