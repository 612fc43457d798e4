/**
 * The time from the start of `cli.ts` to its first response, with cached packages: `deno run -A
 * bench/start_bench.ts [turns]`. The median must be below 400 ms.
 */
const turns = Number(Deno.args[0] ?? 7);
const cli = new URL("../cli.ts", import.meta.url).pathname;

const times: number[] = [];
for (let turn = 0; turn < turns; turn++) times.push(await startOnce());
times.sort((a, b) => a - b);
const shown = times.map((ms) => Math.round(ms)).join(", ");
const median = times[Math.floor(times.length / 2)] ?? 0;
console.log(`start to first answer: median ${Math.round(median)} ms of ${shown}`);
console.log(`under 400 ms: ${median < 400 ? "yes" : "NO"}`);

async function startOnce(): Promise<number> {
  const startedAt = performance.now();
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", cli, "--port", "0"],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let printed = "";
  for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
    printed += text;
    const url = /(http:\/\/\S+\/api\/books)/.exec(printed)?.[1];
    if (url === undefined) continue;
    const answer = await fetch(`${url}?limit=1`);
    await answer.json();
    break;
  }
  const tookMs = performance.now() - startedAt;
  process.kill();
  await process.status;
  return tookMs;
}
