/**
 * Credits: a webhook of a provider grants what was paid, and a procedure costs three. The provider
 * is Paddle, to which this example never connects; its events are signed here.
 *
 *     deno serve -A examples/billing.ts
 *
 *     curl http://127.0.0.1:8000/api/billing/credits -H 'x-user: ada'
 *     # {"balance":0}
 *     deno run -A examples/billing.ts http://127.0.0.1:8000/api/billing/webhook
 *     # 200 {"received":true}
 *     # 200 {"received":true,"duplicate":true}
 *     curl -X POST http://127.0.0.1:8000/api/words/rpc/shout -H 'x-user: ada' --json '{"text":"tea"}'
 *     # {"data":{"text":"TEA"}}
 *     curl http://127.0.0.1:8000/api/billing/credits -H 'x-user: ada'
 *     # {"balance":2}
 *     curl -X POST http://127.0.0.1:8000/api/words/rpc/shout -H 'x-user: ada' --json '{"text":"tea"}'
 *     # {…"status":402,…}
 */
import { createHmac } from "node:crypto";
import { createApp, integer, openDatabase, procedure, resource, table } from "@svc/resource-api";
import { charged, openBilling, paddle } from "@svc/resource-api/billing";
import { z } from "zod";

// A stand-in: a real service reads it from its environment.
const webhookSecret = "pdl_ntfset_for_this_example";

const [url] = Deno.args;
if (url !== undefined) {
  await sendPayment(url);
  Deno.exit();
}

const words = table("words", { id: integer().primaryKey() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([words]);

const billing = await openBilling({
  kv: ":memory:", // a real service keeps balances in a Deno KV: a path, or a URL
  provider: paddle({ apiKey: "pdl_key", webhookSecret }),
  plans: [{ key: "starter", priceId: "pri_starter", type: "one_time", credits: 5 }],
  // The event below belongs to no checkout of this service, whose code would name the account. A page
  // can set these data of Paddle, so a real service does not believe them.
  resolveAccount: ({ metadata }) => metadata?.accountId,
});

const text = z.object({ text: z.string().max(100) });
const shout = procedure({
  input: text,
  output: text,
  handler: charged(billing.credits, { amount: 3, reason: "shout" }, (_context, { text }) => ({
    text: text.toUpperCase(),
  })),
});

const app = await createApp({
  db,
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (c, next) => {
      const id = c.req.header("x-user");
      if (id !== undefined) c.set("user", { id });
      await next();
    },
  },
  resources: [resource(words, { id: words.id, procedures: { shout } })],
});
app.hono.route("/api/billing", billing.routes);

export default app;

/** Sends an event twice, signed as Paddle signs it. */
async function sendPayment(url: string): Promise<void> {
  const body = JSON.stringify({
    event_id: "evt_1",
    event_type: "transaction.completed",
    occurred_at: new Date().toISOString(),
    data: {
      id: "txn_1",
      custom_data: { accountId: "ada" },
      items: [{ price: { id: "pri_starter" }, quantity: 1 }],
      details: { totals: { grand_total: "500" } },
    },
  });
  for (let delivery = 1; delivery <= 2; delivery++) {
    const time = Math.floor(Date.now() / 1000);
    const code = createHmac("sha256", webhookSecret).update(`${time}:${body}`).digest("hex");
    const headers = { "paddle-signature": `ts=${time};h1=${code}` };
    const answer = await fetch(url, { method: "POST", headers, body });
    console.log(answer.status, await answer.text());
  }
}
