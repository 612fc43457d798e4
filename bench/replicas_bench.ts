/**
 * Measures the processor time of the primary and of the service for each list of 20 rows, without a
 * replica and with one: `deno task bench:replicas [lists] [turns]`.
 * Starts a primary and a standby.
 */
import { createApp } from "../mod.ts";
import { startMortalPostgres } from "../tests/support/mortal_postgres.ts";
import { cpuSecondsOfProcess, cpuSecondsOfTree } from "./cpu_seconds.ts";
import { median } from "./figures.ts";
import { fillPostgresNotes } from "./notes_postgres.ts";
import { notesService } from "./notes_service.ts";

const [lists = 4_000, turns = 5] = Deno.args.map(Number);
const connections = 16;
const sides = ["primary alone", "with a replica"] as const;
type Side = typeof sides[number];

await using primary = await startMortalPostgres();
const url = await fillPostgresNotes(primary.url, "notes", 100_000);
await using standby = await primary.createStandby();
const replica = new URL(standby.url);
replica.pathname = "/notes";
const apps = {
  "primary alone": await createApp(await notesService(url)),
  "with a replica": await createApp(
    await notesService(`${url}?replicas=${encodeURIComponent(replica.href)}`),
  ),
};
const [postmaster = 0] = primary.processes();
const figures: Record<Side, { primary: number; service: number; perSecond: number }[]> = {
  "primary alone": [],
  "with a replica": [],
};
for (let turn = 0; turn <= turns; turn++) {
  for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
    const figure = await measure(side);
    // The first turn warms up.
    if (turn > 0) figures[side].push(figure);
  }
}
console.log(`Deno ${Deno.version.deno}, ${turns} × ${lists} lists of 20 rows of 100,000`);
const of = (side: Side, name: "primary" | "service" | "perSecond") =>
  median(figures[side].map((figure) => figure[name]));
for (const side of sides) {
  console.log(
    `${side.padEnd(15)} primary ${of(side, "primary").toFixed(0)} µs, ` +
      `service ${of(side, "service").toFixed(0)} µs, ${of(side, "perSecond").toFixed(0)} lists/s`,
  );
}
const ratio = of("primary alone", "primary") / of("with a replica", "primary");
console.log(`Lists per processor time of the primary: ${ratio.toFixed(2)} × (at least 1.8)`);
await Promise.all(Object.values(apps).map((app) => app.close()));

async function measure(side: Side) {
  const { fetch } = apps[side];
  let next = 0;
  const before = [cpuSecondsOfTree(postmaster) ?? NaN, cpuSecondsOfProcess(Deno.pid) ?? NaN];
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: connections }, async () => {
    while (next < lists) {
      const over = next++ % 900;
      const filter = encodeURIComponent(`status==published;rank>${over}`);
      const response = await fetch(
        new Request(`http://localhost/api/notes?filter=${filter}&limit=20&orderBy=rank`),
      );
      if (response.status !== 200) throw new Error(`A list failed: ${await response.text()}`);
      await response.body?.cancel();
    }
  }));
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = [cpuSecondsOfTree(postmaster) ?? NaN, cpuSecondsOfProcess(Deno.pid) ?? NaN];
  const [ofPrimary = NaN, ofService = NaN] = after.map((value, index) =>
    (value - (before[index] ?? NaN)) / lists * 1e6
  );
  return { primary: ofPrimary, service: ofService, perSecond: lists / seconds };
}
