#!/usr/bin/env node
// The installed executable. libuv reads the size of its thread pool when the pool is first used, and loading an ES module
// is such a use: what main.ts sets would come too late. So this one CommonJS file comes before it.
//
// The store syncs, reads and backs up on this pool, and its default of four threads is shared with everything else.
process.env["UV_THREADPOOL_SIZE"] ??= "16";
import("./main.js").catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
