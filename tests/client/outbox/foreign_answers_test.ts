import { assertEquals, assertThrows } from "@std/assert";
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

for (const kind of ["update", "replace", "create"] as const) {
  Deno.test(`an empty answer of a proxy was taken for the success of ${kind}`, () =>
    withService(async (service) => {
      const device = createDevice();
      const { api, outbox } = openPage(service, device);
      await outbox.create(api.posts, { id: 1, title: "Tea" }).done;
      service.fate = () => new Response(null, { status: 204 });
      const { done } = kind === "create"
        ? outbox.create(api.posts, { id: 2 })
        : outbox[kind](api.posts, 1, { title: "Milk" });
      await calm(service);
      assertEquals(outbox.get().waiting, 1);
      service.fate = () => "arrives";
      device.advanceToNext();
      await done;
      assertEquals((await service.posts()).length, kind === "create" ? 2 : 1);
      outbox.close();
    }));
}

for (const [status, code] of [[403, "FORBIDDEN"], [413, "PAYLOAD_TOO_LARGE"]] as const) {
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
