// What ThreadSanitizer should know about libraries it has not instrumented, for every program it
// watches.
//
// UCX unlocks mutexes of its own in destructors that run after it has destroyed them, which nothing
// of ours can change; locks inside UCX are invisible, so what they order looks like races.
extern "C" {

__attribute__((visibility("default"), used, weak)) const char* __tsan_default_options() {
  return "report_mutex_bugs=0";
}

__attribute__((visibility("default"), used, weak)) const char* __tsan_default_suppressions() {
  return "called_from_lib:libucp.so\n"
         "called_from_lib:libuct.so\n"
         "called_from_lib:libucs.so\n"
         "called_from_lib:libucm.so\n";
}
}
