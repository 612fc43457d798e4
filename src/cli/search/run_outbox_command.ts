import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { KvSearchOutbox } from "../../search/outbox/search_outbox.ts";
import { OutboxStore } from "../../search/outbox/outbox_store.ts";
import { searchOutboxOptionRules } from "../../search/outbox/search_outbox_options.ts";
import { runOverStore } from "../command_store.ts";
import { printValue } from "../printable.ts";
import type { OutboxCommand } from "../command_arguments.ts";

export async function runOutboxCommand(command: OutboxCommand): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  return await runOverStore(command, { action: "read this outbox", creates: false }, {
    runtime,
    async work(store) {
      // The command only counts, lists and requeues entries, so the outbox needs no search index.
      const outbox = new KvSearchOutbox({
        records: new OutboxStore(store.need("search outbox"), runtime),
        indexes: new Map(),
        defaults: searchOutboxOptionRules.read(undefined, { subject: "Cannot read", path: "" }),
        runtime,
      });
      await run(command, outbox);
      return 0;
    },
  });
}

async function run({ verb, json }: OutboxCommand, outbox: KvSearchOutbox): Promise<void> {
  if (verb === "dead") {
    for (const entry of await outbox.dead(1_000)) {
      const { index, docId, attempts, reason, deadSince } = entry;
      const since = new Date(deadSince).toISOString();
      printValue(json, entry, () => `${since}  ${index} ${docId}  ${attempts}x  ${reason}`);
    }
  } else if (verb === "replay") {
    const replayed = await outbox.replayDead();
    printValue(json, { replayed }, () => `${replayed} entries are pending again`);
  } else {
    const stats = await outbox.stats();
    const { pending, ready, leased, dead, oldestAgeMs } = stats;
    const oldest = Math.ceil((oldestAgeMs ?? 0) / 1_000);
    const age = oldestAgeMs === null ? "" : `, the oldest since ${oldest} s`;
    const counts = `${pending} pending (${ready} ready, ${leased} leased${age}), ${dead} dead`;
    printValue(json, stats, () => counts);
  }
}
