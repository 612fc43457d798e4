import { assert } from "@std/assert";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { insertRows, testOnDialects } from "../support/http.ts";
import { notes, withNotes } from "./notes.ts";

testOnDialects(
  "a stream that had missed nothing sent its position only at the next heartbeat",
  (engine) => {
    // Time stands still, so that there is no heartbeat.
    const runtime = { ...systemRuntime(() => {}), clock: handClock().clock };
    return withNotes(engine, {}, async ({ db, subscribe }) => {
      await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }]);
      const first = await subscribe("/api/notes/subscribe");
      await first.untilSynced();
      const token = await first.untilToken();
      await first.close();
      const second = await subscribe(`/api/notes/subscribe?resumeFrom=${token}`);
      const limit = setTimeout(() => void second.close(), 5_000);
      await second.untilToken();
      clearTimeout(limit);
      assert(!second.text.includes("event:"), second.text);
      await second.close();
    }, { runtime });
  },
);
