import { assert, assertMatch, assertRejects } from "@std/assert";
import { createBrowser } from "./browser.ts";
import { OutboxModel } from "./model.ts";
import { createDevice, withService } from "./outbox_support.ts";

Deno.test("each acknowledged write is done exactly once, and none removes another", () =>
  withService(async (service) => {
    const report = await new OutboxModel(service, { seed: 1, steps: 5_000 }).run();
    assert(report.acknowledged > 500 && report.conflicts > 50 && report.reloads > 50);
  }));

Deno.test("the same holds for tabs that share a database, and close while others stay", () =>
  withService(async (service) => {
    const device = () => createDevice(createBrowser());
    const report = await new OutboxModel(service, { seed: 2, steps: 800, tabs: 2, device }).run();
    assert(report.acknowledged > 80 && report.conflicts > 2 && report.reloads > 5);
  }));

/** Requests that some other outbox might send. */
const faults: readonly (readonly [string, (headers: Headers) => void])[] = [
  [
    "a new key for each request",
    (headers) => headers.set("idempotency-key", crypto.randomUUID()),
  ],
  ["no key", (headers) => headers.delete("idempotency-key")],
  ["no tag", (headers) => headers.delete("if-match")],
];

for (const [name, plant] of faults) {
  Deno.test(`the model finds an outbox that sends ${name}`, () =>
    withService(async (service) => {
      const { fetch } = service;
      service.fetch = (request) => {
        const headers = new Headers(request.headers);
        plant(headers);
        return fetch(new Request(request, { headers }));
      };
      const model = new OutboxModel(service, { seed: 1, steps: 5_000 });
      const error = await assertRejects(() => model.run(), Error);
      assertMatch(error.message, /has lost a write|was done \d times|come to rest/);
    }));
}
