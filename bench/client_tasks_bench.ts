/**
 * The longest task of a page's main thread in Chromium while the page queues 1,000 writes in one
 * tick: `deno task bench:client-tasks [rows,…] [profile]`. The live list has 1,000 or 5,000 rows,
 * and the writes are kept in IndexedDB or in memory. The service is another process on this host.
 *
 * - offline: the page has no network while it queues the writes.
 * - reconnect: the network returns, and the service executes the writes.
 * - online: the page queues the writes with a network.
 * - events: another client changes 1,000 rows by ten requests.
 *
 * A task is measured by its processor time, because the machine may be busy, and by its duration.
 */
import { type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core";
import { bundledPage } from "../tests/client/support/bundled_page.ts";
import { chromiumForTests } from "../tests/support/chromium.ts";
import { startScript } from "./start_server.ts";

const writes = 1_000;
const target = 50;
const [sizes = "1000,5000", profiled] = Deno.args;

const script = await bundledPage(`
  import { createClient, createOutbox, liveList } from "/exports/client.ts";
  const wanted = new URLSearchParams(location.search);
  const api = createClient({ baseUrl: "" });
  const lists = Array.from({ length: Number(wanted.get("lists") ?? 1) }, (_, index) =>
    liveList(api.posts, { orderBy: ["-rank"], ...(index > 0 && { filter: "id<" + index }) }));
  const [list] = lists;
  let renders = 0;
  for (const one of lists) one.subscribe(() => renders++);
  const outbox = createOutbox(api, { identity: wanted.get("identity") ?? "" });
  outbox.subscribe(() => {});
  let turn = 0;
  function queue(count) {
    turn++;
    for (let id = 0; id < count; id++) {
      outbox.update(api.posts, id, { title: "changed " + turn + " " + id, rank: id * 31 % 997 });
    }
    return list.get().pending;
  }
  Object.assign(globalThis, { api, list, outbox, queue, renders: () => renders });
`);

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

interface LongestTask {
  readonly cpuMs: number;
  readonly ms: number;
  /** Total processor time of the main thread, in milliseconds. */
  readonly totalMs: number;
}

/** Returns the longest task of a page's main thread during `work`. */
async function longestTask(
  session: CDPSession,
  work: () => Promise<unknown>,
): Promise<LongestTask> {
  const events: TraceEvent[] = [];
  const take = ({ value }: { value: object[] }) => events.push(...value as TraceEvent[]);
  session.on("Tracing.dataCollected", take);
  await session.send("Tracing.start", {
    traceConfig: { includedCategories: ["disabled-by-default-devtools.timeline", "__metadata"] },
    transferMode: "ReportEvents",
  });
  await work();
  const isComplete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await isComplete;
  session.off("Tracing.dataCollected", take);
  const threads = new Set(
    events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(({ name, ph, pid, tid }) =>
    name === "RunTask" && ph === "X" && threads.has(`${pid} ${tid}`)
  );
  const longest = (one: "dur" | "tdur") =>
    Math.max(0, ...tasks.map((task) => task[one] ?? 0)) / 1_000;
  const totalMs = tasks.reduce((sum, { tdur = 0 }) => sum + tdur, 0) / 1_000;
  return { cpuMs: longest("tdur"), ms: longest("dur"), totalMs };
}

async function until(page: Page, expression: string): Promise<void> {
  await page.waitForFunction(expression, undefined, { timeout: 120_000, polling: 200 });
}

const allShown = "outbox.get().waiting === 0 && list.get().pending === 0";
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function report(name: string, { cpuMs, ms, totalMs }: LongestTask): void {
  const verdict = cpuMs <= target ? "yes" : "NO";
  console.log(
    `${name}: longest task ${cpuMs.toFixed(1)} ms of processor time (at most ${target}: ` +
      `${verdict}), ${ms.toFixed(1)} ms long; all tasks ${totalMs.toFixed(0)} ms`,
  );
}

async function measure(
  context: BrowserContext,
  { origin, search, name }: { origin: string; search: string; name: string },
): Promise<void> {
  const page = await context.newPage();
  page.on("pageerror", (error) => console.log(error));
  await page.goto(`${origin}/page?${search}`);
  await until(page, `list.get().status === "live"`);
  const session = await context.newCDPSession(page);
  const run = async (kind: string, work: () => Promise<unknown>) => {
    if (profiled) await session.send("Profiler.enable");
    if (profiled) await session.send("Profiler.setSamplingInterval", { interval: 100 });
    if (profiled) await session.send("Profiler.start");
    report(`${name}, ${kind}`, await longestTask(session, work));
    if (profiled) {
      const { profile } = await session.send("Profiler.stop");
      await Deno.writeTextFile(
        `${profiled}/${name} ${kind}.cpuprofile`.replaceAll(/[, ]+/g, "-"),
        JSON.stringify(profile),
      );
    }
  };
  await context.setOffline(true);
  await run("offline", async () => {
    await page.evaluate(`void setTimeout(() => queue(${writes}))`);
    await pause(2_000);
  });
  await run("reconnect", async () => {
    await context.setOffline(false);
    await until(page, allShown);
  });
  await run("online", async () => {
    await page.evaluate(`void setTimeout(() => queue(${writes}))`);
    await pause(100);
    await until(page, allShown);
  });
  await run("events", async () => {
    // A batch changes at most 100 rows.
    for (let start = 0; start < writes; start += 100) {
      const response = await fetch(`${origin}/api/posts/batch`, {
        method: "PATCH",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          filter: `id>=${start};id<${start + 100}`,
          patch: { title: `by another ${search}` },
        }),
      });
      if (!response.ok) throw new Error(await response.text());
      await response.body?.cancel();
    }
    await until(
      page,
      `list.get().items.filter(({ title }) => title.startsWith("by an")).length ===
      ${writes}`,
    );
  });
  await page.close();
}

const installed = await chromiumForTests();
if ("missing" in installed) throw new Error(installed.missing);
const browser = await chromium.launch({ executablePath: installed.path });
console.log(`Chromium ${browser.version()}, ${navigator.hardwareConcurrency} cores`);
const folder = await Deno.makeTempDir();
try {
  for (const rows of sizes.split(",")) {
    await using server = await startScript("client_server.ts", [`${folder}/${rows}.db`, rows]);
    const origin = `http://127.0.0.1:${server.port}`;
    for (const [storage, search] of [["memory", ""], ["IndexedDB", "identity=ada"]] as const) {
      const context = await browser.newContext();
      await context.route(`${origin}/page*`, (route) =>
        route.fulfill({
          contentType: "text/html",
          body: `<!doctype html><title>Posts</title><script type="module">${script}</script>`,
        }));
      await measure(context, { origin, search, name: `${rows} rows, ${storage}` });
      await context.close();
    }
  }
} finally {
  await browser.close();
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(0);
