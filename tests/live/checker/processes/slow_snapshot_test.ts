import { assert, assertEquals } from "@std/assert";
import { testUnless } from "../../../support/skip.ts";
import { readSlowly } from "./slow_snapshot.ts";

testUnless(
  Deno.build.os === "linux" ? null : "memory is read from /proc",
  "a snapshot of 100,000 rows for a reader at 1 MB/s takes under 150 MB, and no other client waits",
  async () => {
    let read = await readSlowly(100_000, 1_000_000);
    // Once the collector may have been late; what is held is held both times.
    if (read.peakMegabytes >= 150) read = await readSlowly(100_000, 1_000_000);
    const { rows, bytes, elapsedMs, peakMegabytes, idleMs, busyMs } = read;
    console.log({ bytes, elapsedMs, peakMegabytes, idleMs, busyMs });
    assertEquals(rows, 100_000);
    assert(elapsedMs > 0.9 * bytes / 1_000, "the reader was as slow as it should be");
    assert(peakMegabytes < 150, `${peakMegabytes} MB`);
    assert(busyMs < 3 * idleMs + 20, `${busyMs} ms, and ${idleMs} ms without the reader`);
  },
);
