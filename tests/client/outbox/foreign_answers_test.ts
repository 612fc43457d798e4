import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ServiceError } from "../../../exports/client.ts";
import { createOutbox } from "../../../src/client/outbox/create_outbox.ts";
import type { OutboxOptions } from "../../../src/client/outbox/outbox.ts";
import { createBrowser } from "./browser.ts";
import { calm, createDevice, openPage, withService } from "./outbox_support.ts";

/** An answer of the service. */
function answer(status: number, headers: Record<string, string> = {}, code = "X"): Response {
  const type = `/__service/problems/${code.toLowerCase()}`;
  return new Response(JSON.stringify({ type, code, detail: "Not now", status }), {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
  });
}

for (const status of [400, 401, 403, 404, 409, 410, 412, 413, 422, 428, 429, 431, 451]) {
  for (
    const [what, page] of [
      ["HTML", "<h1>Blocked</h1>"],
      ["JSON", '{"error":"blocked","code":"BLOCKED"}'],
      [
        "a problem on another host",
        '{"type":"https://evil.example/__service/problems/x","title":"No","detail":"No","code":"X"}',
      ],
      [
        "a problem on another host without a scheme",
        '{"type":"//evil.example/__service/problems/x","title":"No","detail":"No","code":"X"}',
      ],
      [
        "a problem of a path that ends alike",
        '{"type":"/my_service/problems/x","title":"No","detail":"No","code":"X"}',
      ],
      ["a problem", '{"type":"https://waf.example/blocked","title":"No","detail":"No","code":"X"}'],
    ] as const
  ) {
    Deno.test(`a ${status} as ${what} of a stranger was taken for a refusal of the service`, () =>
      withService(async (service) => {
        const device = createDevice();
        const { api, outbox } = openPage(service, device);
        const type = what === "HTML" ? "text/html" : "application/problem+json";
        service.fate = () => "answer lost";
        const { id, done } = outbox.create(api.posts, { title: "Tea" });
        await calm(service);
        service.fate = () => new Response(page, { status, headers: { "content-type": type } });
        device.advanceToNext();
        await calm(service);
        assertEquals([outbox.get().waiting, outbox.get().dead], [1, 0]);
        await outbox.revive(id);
        service.fate = () => "arrives";
        device.advanceToNext();
        await done;
        assertEquals((await service.posts()).length, 1);
        outbox.close();
      }));
  }
}

const successes: readonly [string, () => Response][] = [
  ["an empty 204", () => new Response(null, { status: 204 })],
  ["an empty 200", () => new Response(null)],
  ["JSON of a portal", () => Response.json({ ok: true })],
  ["JSON like a row", () => Response.json({ id: 1, title: "Milk" }, { headers: { etag: '"1"' } })],
  ["JSON with a charset", () => withType("{}", "application/json; charset=utf-8")],
  ...["[]", '"ok"', "1", "true"].map((body): [string, () => Response] => [
    `the JSON ${body}`,
    () => withType(body, "application/json"),
  ]),
  ["an empty body with safe numbers", () => withType("", "application/json; numbers=safe")],
  ["a page with safe numbers", () => withType("<h1>Hello</h1>", "text/html; numbers=safe")],
  ["JSON as a page with safe numbers", () => withType("{}", "text/html; numbers=safe")],
  ["JSON as a page of events", () => withType("{}", "text/html; event")],
  ["JSON with the type of a page", () => withType('{"id":5}', "text/html")],
  ["a problem with the status 200", () => withType("{}", "application/problem+json")],
  ["a created object", () => Response.json({}, { status: 201, headers: { location: "/x/7" } })],
];

function withType(body: string, type: string): Response {
  return new Response(body, { headers: { "content-type": type } });
}

for (const kind of ["create", "update", "replace", "delete"] as const) {
  for (const [what, given] of successes) {
    Deno.test(`${what} of a stranger was taken for the success of ${kind}`, () =>
      withService(async (service) => {
        const device = createDevice();
        const { api, outbox } = openPage(service, device);
        await outbox.create(api.posts, { id: 1, title: "Tea" }).done;
        service.fate = given;
        const written = {
          create: () => outbox.create(api.posts, { id: 2 }),
          update: () => outbox.update(api.posts, 1, { title: "Milk" }),
          replace: () => outbox.replace(api.posts, 1, { title: "Milk" }),
          delete: () => outbox.delete(api.posts, 1),
        };
        const { done } = written[kind]();
        await calm(service);
        assertEquals([outbox.get().waiting, outbox.get().dead], [1, 0]);
        service.fate = () => "arrives";
        device.advanceToNext();
        await done;
        const stored = { create: ["Tea", ""], update: ["Milk"], replace: ["Milk"], delete: [] };
        assertEquals((await service.posts()).map(({ title }) => title), stored[kind]);
        outbox.close();
      }));
  }
}

Deno.test("a client took the answer of another server for a row, a page or a delete", () =>
  withService(async (service) => {
    const { api, outbox } = openPage(service, createDevice());
    await api.posts.create({ id: 1, title: "Tea" });
    for (const [what, given] of successes) {
      service.fate = given;
      for (
        const call of [
          () => api.posts.list(),
          () => api.posts.count(),
          () => api.posts.get(1),
          () => api.posts.get(1, { ifNoneMatch: '"x"' }),
          () => api.posts.create({ id: 2 }),
          () => api.posts.update(1, { title: "Milk" }),
          () => api.posts.delete(1),
          () => api.posts.deleteBatch("id==1"),
          () => api.posts.updateBatch("id==1", { title: "Milk" }),
          () => api.posts.import([{ id: 2 }]),
          () => api.posts.createBatch([{ id: 2 }]),
          () => api.posts.aggregate({ count: true }),
          () => Array.fromAsync(api.posts.all()),
        ]
      ) {
        const error = await assertRejects(call, ServiceError);
        assertEquals(error.slug, "unexpected-answer", `${what}: ${call}`);
      }
    }
    service.fate = () => "arrives";
    await api.posts.delete(1);
    assertEquals(await service.posts(), []);
    outbox.close();
  }));

for (
  const [status, code] of [
    [400, "INVALID_PARAMETER"],
    [400, "INVALID_BODY"],
    [403, "FORBIDDEN"],
    [404, "NOT_FOUND"],
    [405, "METHOD_NOT_ALLOWED"],
    [413, "PAYLOAD_TOO_LARGE"],
    [422, "QUERY_TOO_EXPENSIVE"],
  ] as const
) {
  Deno.test(`a write that was carried out, then refused by ${status}, was applied again when revived`, () =>
    withService(async (service) => {
      const device = createDevice();
      const { api, outbox } = openPage(service, device);
      service.fate = () => "answer lost";
      const { id, done } = outbox.create(api.posts, { title: "Tea" });
      done.catch(() => {});
      await calm(service);
      service.fate = () => answer(status, {}, code);
      device.advanceToNext();
      await calm(service);
      assertEquals(outbox.get().dead, 1);
      service.fate = () => "arrives";
      await outbox.revive(id);
      await calm(service);
      assertEquals([outbox.get().jobs.length, (await service.posts()).length], [0, 1]);
      outbox.close();
    }));
}

Deno.test("a write that was carried out, then refused by 404 twice, keeps its key", () =>
  withService(async (service) => {
    const device = createDevice();
    const { api, outbox } = openPage(service, device);
    service.fate = () => "answer lost";
    const { id, done } = outbox.create(api.posts, { title: "Tea" });
    done.catch(() => {});
    await calm(service);
    service.fate = () => answer(404, {}, "NOT_FOUND");
    device.advanceToNext();
    for (let tries = 0; tries < 2; tries++) {
      await calm(service);
      assertEquals(outbox.get().dead, 1);
      if (tries === 1) service.fate = () => "arrives";
      await outbox.revive(id);
    }
    await calm(service);
    assertEquals([outbox.get().jobs.length, (await service.posts()).length], [0, 1]);
    outbox.close();
  }));

Deno.test("a write that was refused by 404 at its first attempt is revived with another key", () =>
  withService(async (service) => {
    const { api, outbox } = openPage(service, createDevice());
    const { id, done } = outbox.update(api.posts, 1, { title: "Milk" });
    done.catch(() => {});
    await calm(service);
    assertEquals(outbox.get().jobs[0]?.problem?.status, 404);
    await api.posts.create({ id: 1, title: "Tea" });
    await outbox.revive(id);
    await calm(service);
    assertEquals((await service.posts()).map(({ title }) => title), ["Milk"]);
    outbox.close();
  }));

Deno.test("a write that was revived with another body, and carried out before, is not applied again", () =>
  withService(async (service) => {
    const device = createDevice();
    const { api, outbox } = openPage(service, device);
    service.fate = () => "answer lost";
    const { id, done } = outbox.create(api.posts, { title: "Tea" });
    done.catch(() => {});
    await calm(service);
    service.fate = () => answer(403, {}, "FORBIDDEN");
    device.advanceToNext();
    await calm(service);
    service.fate = () => "arrives";
    for (let tries = 0; tries < 2; tries++) {
      await outbox.revive(id, { title: "Milk" });
      await calm(service);
      assertEquals(outbox.get().jobs[0]?.problem?.slug, "idempotency-key-reused");
    }
    assertEquals((await service.posts()).map(({ title }) => title), ["Tea"]);
    outbox.close();
  }));

Deno.test("the next user of a browser was shown, and sent, what waited without an identity", () =>
  withService(async (service) => {
    const browser = createBrowser();
    for (const identity of ["", undefined]) {
      // As a program that is not checked may do.
      const options = { identity: identity as string };
      const ada = openPage(service, createDevice(browser), options);
      service.fate = () => "lost";
      ada.outbox.create(ada.api.posts, { title: "a private note of Ada" }).done.catch(() => {});
      await calm(service);
      ada.outbox.close();
      const bob = openPage(service, createDevice(browser), options);
      service.fate = () => "arrives";
      await calm(service);
      assertEquals([bob.outbox.get().jobs, await service.posts()], [[], []]);
      bob.outbox.close();
    }
  }));

Deno.test("an outbox without options says that it needs an identity", () =>
  withService((service) => {
    const { api, outbox } = openPage(service, createDevice());
    // As a program that is not checked may do.
    const none = undefined as unknown as OutboxOptions;
    assertThrows(() => createOutbox(api, none), TypeError, "identity");
    outbox.close();
    return Promise.resolve();
  }));
