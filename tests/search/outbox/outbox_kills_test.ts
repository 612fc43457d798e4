import { assert, assertEquals } from "@std/assert";
import { runChild } from "../../serve/child_process.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { openKillable } from "./outbox_kill_process.ts";

const script = new URL("outbox_kill_process.ts", import.meta.url).pathname;
const never = () => Promise.resolve();

/** `EACH=1` kills at every one, for a minute; otherwise each third. */
const each = Number(Deno.env.get("EACH") ?? 3);

Deno.test("kill -9 at every await of writes and drains: the index equals the rows", async () => {
  await using folder = await scratchFolder();
  const template = `${folder.path}/template`;
  await Deno.mkdir(template);
  {
    await using service = await openKillable(template, never);
    await service.send("POST", "", { id: 1, title: "old" });
    await service.send("POST", "", { id: 2, title: "old" });
    await service.app.searchOutbox?.drain();
  }
  let next = 1;
  let moments = Infinity;
  const pending: number[] = [];
  // Two at a time, of which each starts a process.
  await Promise.all([1, 2].map(async () => {
    while (next < moments) {
      const moment = next;
      next += each;
      const place = `${folder.path}/${moment}`;
      await copyFolder(template, place);
      const { stdout, code } = await runChild([script, place, String(moment)]);
      const isDone = stdout.includes("done");
      assertEquals(code === 0, isDone, `it ended by itself at ${moment}`);
      if (isDone) moments = Math.min(moments, moment);
      pending.push(await compare(place, moment));
    }
  }));
  assert(moments > 30, `only ${moments} moments`);
  assert(pending.filter((count) => count > 0).length > 20 / each, `${pending}`);
});

/** Drains what the killed process has left, and gives how many entries that were. */
async function compare(folder: string, moment: number): Promise<number> {
  // Leases and intents are over by then.
  await using service = await openKillable(folder, never, 310_000);
  const { app: { searchOutbox: outbox }, backend, send } = service;
  assert(outbox !== null);
  const { pending, ready, dead } = await outbox.stats();
  assertEquals([ready, dead], [pending, 0]);
  while ((await outbox.drain()).done > 0);
  assertEquals((await outbox.stats()).pending, 0);
  const rows = await listOf(send, "?limit=9");
  for (const word of ["old", "changed", "created"]) {
    const expected = rows.filter(({ title }) => title === word);
    assertEquals(await listOf(send, `/search?q=${word}`), expected, `"${word}" at ${moment}`);
  }
  const ids = (await backend.keys(null, 9)).map(([id]) => Number(id)).toSorted();
  assertEquals(ids, rows.map(({ id }) => id), `documents at ${moment}`);
  return pending;
}

async function listOf(
  send: (method: string, path: string) => Promise<unknown>,
  path: string,
): Promise<readonly { readonly id: number; readonly title: string }[]> {
  // The service answers lists in this form.
  const { items } = await send("GET", path) as { items: { id: number; title: string }[] };
  return items;
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) {
    await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}
