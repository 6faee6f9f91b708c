//! Arrays on the stack that vectors write and read back at once.

/// An array that begins at a cache line. Otherwise the rest of a function's stack decides which vectors lie in two cache
/// lines; reading these back waits for the writes. Recipes took 5 % longer (benches/LOG.md, "stack arrays at cache
/// lines").
#[repr(align(64))]
pub(super) struct CacheLines<T>(pub(super) T);
