import { assertEquals } from "@std/assert";
import {
  type ApiResource,
  browserEnvironment,
  createClient,
  liveList,
  reconnect,
} from "../../../exports/client.ts";

interface Things extends ApiResource {
  readonly row: { readonly id: number };
}

/** The answer to a request for a stream, which the test writes. */
interface Answer {
  readonly resumeFrom: string | null;
  readonly signal: AbortSignal;
  begin(): void;
  write(text: string): void;
  end(): void;
  refuse(status: number, headers?: Record<string, string>): void;
}

function refusal(status: number) {
  return { type: "/__service/problems/refused", code: "REFUSED", detail: "No", status };
}

/** A page with one live list, whose clock, visibility and service are the test's. */
function openPage() {
  const answers: Answer[] = [];
  const timers = new Map<() => void, number>();
  const wakes = new Set<() => void>();
  const page = { now: 1_000_000, isHidden: false };
  const api = createClient<{ things: Things }>({
    baseUrl: "http://test",
    environment: {
      ...browserEnvironment(),
      now: () => page.now,
      random: () => 0,
      isHidden: () => page.isHidden,
      after(ms, run) {
        const own = () => run();
        timers.set(own, page.now + ms);
        return () => void timers.delete(own);
      },
      onWake(run) {
        wakes.add(run);
        return () => void wakes.delete(run);
      },
    },
    async fetch(request) {
      const [asked] = (await request.json()).subscriptions;
      return await new Promise<Response>((resolve, reject) => {
        request.signal.addEventListener("abort", () => reject(request.signal.reason));
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
        const writer = writable.getWriter();
        writer.closed.catch(() => {});
        answers.push({
          resumeFrom: asked.resumeFrom,
          signal: request.signal,
          begin: () => resolve(eventStream(readable)),
          write: (text) => void writer.write(new TextEncoder().encode(text)).catch(() => {}),
          end: () => void writer.close(),
          refuse: (status, headers = {}) =>
            resolve(Response.json(refusal(status), { status, headers })),
        });
      });
    },
  });
  const list = liveList(api.things);
  const end = list.subscribe(() => {});

  /** Lets time pass, and what was to happen in it. */
  async function pass(ms: number): Promise<void> {
    await takeTurns();
    const target = page.now + ms;
    for (;;) {
      const [next] = [...timers].sort(([, one], [, other]) => one - other);
      if (next === undefined || next[1] > target) break;
      page.now = Math.max(page.now, next[1]);
      timers.delete(next[0]);
      next[0]();
      await takeTurns();
    }
    page.now = target;
  }

  async function wake(): Promise<void> {
    for (const run of [...wakes]) run();
    await pass(0);
  }

  return { api, answers, list, end, page, pass, wake, timers, wakes };
}

function eventStream(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function takeTurns(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setTimeout(resolve));
}

/** The rows of the list, up to a position. */
function rows(token: string): string {
  const data = { type: "subscription", key: "0", primaryKey: ["id"], types: { id: "integer" } };
  return `event: subscription\ndata: ${JSON.stringify(data)}\n\n` +
    `event: existing\ndata: ${JSON.stringify({ type: "existing", items: [{ id: 1 }] })}\n\n` +
    `id: ${token}\n\n`;
}

const heartbeat = ":\n\n";

/** A page whose list has its rows. */
async function openLivePage() {
  const opened = openPage();
  await opened.pass(0);
  const [stream] = opened.answers;
  if (stream === undefined) throw new Error("A stream is asked for");
  stream.begin();
  stream.write(rows("first"));
  await opened.pass(0);
  assertEquals(opened.list.get().status, "live");
  return { ...opened, stream };
}

Deno.test("a stream without a sign of life for 45 seconds is dead, and is continued by another", async () => {
  const { answers, list, end, pass, stream } = await openLivePage();
  await pass(44_000);
  stream.write(heartbeat);
  await pass(44_000);
  assertEquals([list.get().status, answers.length], ["live", 1]);
  await pass(1_500);
  assertEquals([list.get().status, stream.signal.aborted], ["stale", true]);
  await pass(1_000);
  assertEquals(answers.map(({ resumeFrom }) => resumeFrom), [null, "first"]);
  end();
});

Deno.test("a request for a stream that is not answered for 45 seconds is sent again", async () => {
  const { answers, list, end, pass } = openPage();
  await pass(44_000);
  assertEquals(answers.length, 1);
  await pass(2_500);
  assertEquals([list.get().status, answers.length], ["connecting", 2]);
  assertEquals(answers[0]?.signal.aborted, true);
  end();
});

Deno.test("a page that is hidden for five minutes closes its stream, and continues when it is looked at", async () => {
  const { answers, list, end, page, pass, wake, stream } = await openLivePage();
  const hearHeartbeats = async (seconds: number) => {
    for (let at = 0; at < seconds; at += 15) {
      await pass(15_000);
      stream.write(heartbeat);
    }
    await pass(0);
  };
  await hearHeartbeats(600);
  page.isHidden = true;
  await hearHeartbeats(285);
  assertEquals([list.get().status, stream.signal.aborted], ["live", false]);
  await hearHeartbeats(15);
  assertEquals([list.get().status, stream.signal.aborted], ["stale", true]);
  await pass(3_600_000);
  await wake();
  assertEquals(answers.length, 1);
  page.isHidden = false;
  await wake();
  assertEquals(answers.map(({ resumeFrom }) => resumeFrom), [null, "first"]);
  end();
});

Deno.test("a page that comes back asks for a stream unless there has been a sign of life just before", async () => {
  const { answers, end, pass, wake } = await openLivePage();
  await pass(20_000);
  await wake();
  assertEquals(answers.length, 1);
  await pass(5_000);
  await wake();
  assertEquals(answers.length, 2);
  end();
});

Deno.test("a page that comes back shortens a pause after a failure, and none that the service asked for", async () => {
  const { answers, list, end, pass, wake } = openPage();
  await pass(0);
  answers[0]?.refuse(503, { "retry-after": "60" });
  await pass(0);
  await wake();
  assertEquals(answers.length, 2);
  answers[1]?.refuse(429, { "retry-after": "60" });
  await pass(0);
  await wake();
  await pass(59_000);
  assertEquals([list.get().status, answers.length], ["limited", 2]);
  await pass(1_000);
  assertEquals(answers.length, 3);
  end();
});

Deno.test("a list that needs a sign-in asks for nothing before `reconnect`", async () => {
  const { api, answers, list, end, pass, wake } = openPage();
  await pass(0);
  answers[0]?.refuse(401);
  await pass(0);
  await wake();
  await pass(3_600_000);
  assertEquals([list.get().status, answers.length], ["needs-auth", 1]);
  reconnect(api);
  await pass(0);
  assertEquals(answers.length, 2);
  end();
});

Deno.test("a list without listeners leaves no stream, no timer and no listener of the page", async () => {
  const { end, pass, stream, timers, wakes } = await openLivePage();
  end();
  await pass(0);
  assertEquals([stream.signal.aborted, timers.size, wakes.size], [true, 0, 0]);
});

Deno.test("a lone list that is rate limited showed that it connects, without its error", async () => {
  const { answers, list, end, pass } = openPage();
  await pass(0);
  const [stream] = answers;
  stream?.begin();
  const refused = { type: "refused", key: "0", status: 429, problem: refusal(429), retryAfter: 60 };
  stream?.write(`event: refused\ndata: ${JSON.stringify(refused)}\n\n`);
  stream?.end();
  await pass(59_000);
  const { status, error } = list.get();
  assertEquals([status, error?.status, answers.length], ["limited", 429, 1]);
  await pass(2_000);
  assertEquals(answers.length, 2);
  answers[1]?.begin();
  answers[1]?.write(rows("first"));
  await pass(0);
  assertEquals([list.get().status, list.get().error], ["live", null]);
  const ended = { type: "ended", key: "0" };
  answers[1]?.write(`event: ended\ndata: ${JSON.stringify(ended)}\n\n`);
  await pass(0);
  assertEquals(list.get().status, "stale", "a subscription that has ended");
  end();
});
