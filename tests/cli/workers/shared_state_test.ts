import { assert, assertEquals, assertMatch } from "@std/assert";
import { solve } from "../../../exports/proof_of_work.ts";
import { openEventStream } from "../../support/event_stream.ts";
import { testOnPostgres } from "../../support/postgres_tests.ts";
import { scratchFolder } from "../../support/scratch.ts";
import {
  freshClient,
  missingNotes,
  notesConfig,
  startWorkers,
  workerOf,
} from "./several_workers.ts";

Deno.test("sqlite: two workers are one service", async (test) => {
  await using folder = await scratchFolder();
  await requireOneService(test, folder.path, `sqlite:${folder.path}/notes.db`);
});

testOnPostgres("two workers are one service", async (url, test) => {
  await using folder = await scratchFolder();
  await requireOneService(test, folder.path, url);
});

async function requireOneService(
  test: Deno.TestContext,
  folder: string,
  database: string,
): Promise<void> {
  const env = { NOTES_DB: database, NOTES_KV: `${folder}/notes.kv` };
  await using service = await startWorkers(notesConfig, env);
  using client = freshClient(service.url);
  const [first, second] = service.running().map(String);
  assert(first !== undefined && second !== undefined);

  await test.step("a write in one is an event in the other, live and later", async () => {
    const subscribe = (pid: string, position = "") =>
      openEventStream((signal) => {
        const headers = { "last-event-id": position };
        return client.fetchFrom(pid, "/api/notes/subscribe", { headers, signal });
      }, () => {});
    const stream = await subscribe(first);
    await stream.untilSynced();
    await headOf(client.fetchFrom(second, "/api/notes", noteBy("ada", "seen")));
    const [event] = await stream.take(1);
    assertEquals([event?.type, event?.data.item.title], ["added", "seen"]);
    const position = await stream.untilToken();
    await stream.close();

    await headOf(client.fetchFrom(first, "/api/notes", noteBy("ada", "missed")));
    const resumed = await subscribe(second, position);
    const [missed] = await resumed.take(1);
    assertEquals([missed?.type, missed?.data.item.title], ["added", "missed"]);
    await resumed.close();
  });

  await test.step("a cursor of one is good in the other", async () => {
    const one = await client.fetchFrom(first, "/api/notes?limit=1");
    const { nextCursor } = await one.json();
    const two = await client.fetchFrom(second, `/api/notes?limit=1&cursor=${nextCursor}`);
    assertEquals((await two.json()).items[0].title, "missed");
  });

  await test.step("requests with one Idempotency-Key are executed once", async () => {
    const request = noteBy("bob", "once", { "idempotency-key": "one-key" });
    const answers = await all(20, () => client.fetch("/api/notes", request));
    assertEquals(new Set(answers.map(workerOf)), new Set([first, second]));
    // One that comes while another is executed is refused, and may be sent again.
    for (const { status } of answers) assertMatch(String(status), /^(201|409)$/);
    const again = await headOf(client.fetch("/api/notes", request));
    assertEquals([again.status, again.headers.get("idempotency-replayed")], [201, "true"]);
    const count = await client.fetch("/api/notes/count?filter=title==once");
    assertEquals((await count.json()).count, 1);
  });

  await test.step("a budget of 20 serves 20 requests", async () => {
    const headers = { "x-user": "carl" };
    const answers = await all(60, () => client.fetch("/api/notes/count", { headers }));
    assertEquals(new Set(answers.map(workerOf)), new Set([first, second]));
    assertEquals(answers.filter(({ status }) => status === 200).length, 20);
  });

  await test.step("a proof of work for one is good in the other, once", async () => {
    const { headers } = await headOf(client.fetchFrom(first, "/api/puzzles"));
    const token = headers.get("service-pow-challenge") ?? "";
    const nonce = await solve({ token, difficulty: 8 }, { workers: 0 });
    const paid = { headers: { "service-pow-challenge": token, "service-pow-nonce": nonce } };
    const [taken, refused] = [
      await headOf(client.fetchFrom(second, "/api/puzzles", paid)),
      await headOf(client.fetchFrom(first, "/api/puzzles", paid)),
    ];
    assertEquals([taken.status, refused.status], [200, 428]);
  });

  await test.step("the metrics of either are those of both", async () => {
    const answers = await all(40, () => client.fetch("/api/notes/404040"));
    assertEquals(new Set(answers.map(workerOf)), new Set([first, second]));
    for (const pid of [first, second]) {
      const metrics = await (await client.fetchFrom(pid, "/__service/metrics")).text();
      assertEquals(missingNotes(metrics), 40);
      assertMatch(metrics, /^resource_api_build_info\{.*\} 1$/m);
      assertMatch(metrics, /^resource_api_db_up\{.*\} 1$/m);
      assertMatch(metrics, /^http_server_request_duration_seconds_bucket\{.*le="\+Inf"\} \d+$/m);
    }
  });

  service.child.signal("SIGINT");
  assertEquals(await service.child.ended(), 0, service.child.stderr());
  assertEquals(service.child.stderr().match(/no secret is set/g)?.length, 1);
  assert(!/"level":"(error|warning)"/.test(service.child.stderr()), service.child.stderr());
}

function noteBy(
  user: string,
  title: string,
  headers: Readonly<Record<string, string>> = {},
): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json", "x-user": user, ...headers },
    body: JSON.stringify({ title }),
  };
}

/** The answers of so many requests at once. */
function all(count: number, request: () => Promise<Response>): Promise<readonly Response[]> {
  return Promise.all(Array.from({ length: count }, () => headOf(request())));
}

/** The response without its body. */
async function headOf(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  await response.body?.cancel();
  return response;
}
