/**
 * Protection against abuse: three requests a minute are free, and every further one costs a client
 * some milliseconds of work, so that thousands are expensive.
 *
 *     deno run -A examples/abuse_protection.ts
 *
 *     deno run -A examples/abuse_protection.ts http://127.0.0.1:8000/api/guesses
 *     # 200 paid by the budget
 *     # 200 paid by the budget
 *     # 200 paid by the budget
 *     # 200 paid by work
 *     curl http://127.0.0.1:8000/api/guesses
 *     # {…"status":428,…}
 */
import { integer, openDatabase, resource, serve, table } from "@svc/resource-api";
import { solve } from "@svc/resource-api/proof-of-work";

const [url] = Deno.args;
if (url === undefined) await runService();
else await runClient(url);

async function runService(): Promise<void> {
  const guesses = table("guesses", { id: integer().primaryKey(), number: integer().notNull() });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([guesses]);
  await serve({
    db,
    kv: ":memory:", // several processes count together in a Deno KV: a path, or a URL
    abuseProtection: {
      // `anonymous` is each address, `authenticated` each user.
      budget: { classes: { anonymous: { capacity: 3, refillPerMinute: 3 } } },
      pow: { difficulty: 16 }, // a browser needs 5 ms; each bit more doubles that
    },
    resources: [resource(guesses, { id: guesses.id, auth: { public: { read: true } } })],
  });
}

async function runClient(url: string): Promise<void> {
  for (let request = 1; request <= 4; request++) {
    const { response, paidBy } = await fetchAndPay(url);
    console.log(response.status, `paid by ${paidBy}`);
    await response.body?.cancel();
  }
}

/** Repeats a request that is refused with a challenge, with its solution. Also for browsers. */
async function fetchAndPay(url: string): Promise<{ response: Response; paidBy: string }> {
  const response = await fetch(url);
  if (response.headers.get("service-challenge-type") !== "pow") {
    return { response, paidBy: "the budget" };
  }
  await response.body?.cancel();
  const token = response.headers.get("service-pow-challenge") ?? "";
  const difficulty = Number(response.headers.get("service-pow-difficulty"));
  const nonce = await solve({ token, difficulty });
  // The same request, byte for byte: the challenge serves no other.
  const headers = { "service-pow-challenge": token, "service-pow-nonce": nonce };
  return { response: await fetch(url, { headers }), paidBy: "work" };
}
