import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createClient } from "../../../src/client/request/create_client.ts";
import { createOutbox } from "../../../src/client/outbox/create_outbox.ts";
import { ServiceError } from "../../../src/client/request/service_error.ts";
import { calm, createDevice, openPage, withService } from "./outbox_support.ts";

Deno.test("an outbox without options was an error of destructuring", () => {
  const api = createClient({ baseUrl: "http://localhost" });
  // @ts-expect-error: as a program without types calls it.
  assertThrows(() => createOutbox(api), TypeError, "No outbox without identity");
});

for (const next of ["bob", null, ""]) {
  Deno.test(`without an identity, a write of ada is not sent with the token ${next}`, () =>
    withService(async (service) => {
      let user: string | null = "ada";
      const device = createDevice();
      device.isOnline = false;
      const { api, outbox } = openPage(service, device, { identity: "" }, () => user);
      const { id, done } = outbox.create(api.posts, { title: "of ada" });
      await calm(service);
      user = next;
      device.isOnline = true;
      device.wake();
      const error = await assertRejects(() => done, ServiceError);
      assertEquals([error.slug, service.sent.length], ["discarded", 0]);
      // The next user neither sees the write nor sends it.
      assertEquals(outbox.get().jobs, []);
      await outbox.revive(id);
      await calm(service);
      assertEquals(service.sent, []);
      outbox.close();
    }));
}

Deno.test("without an identity, a token that changes while a write is sent again is not taken", () =>
  withService(async (service) => {
    let user = "ada";
    const device = createDevice();
    const { api, outbox } = openPage(service, device, { identity: "" }, ({ refresh }) => {
      if (refresh) user = "bob";
      return user;
    });
    service.fate = () =>
      Response.json(
        { type: "/__service/problems/unauthorized", status: 401, code: "UNAUTHORIZED" },
        {
          status: 401,
          headers: { "content-type": "application/problem+json" },
        },
      );
    const { done } = outbox.create(api.posts, { title: "of ada" });
    done.catch(() => {});
    await calm(service);
    for (let tries = 0; tries < 20 && outbox.get().jobs.length > 0; tries++) {
      device.advanceToNext();
      await calm(service);
    }
    const sent = service.sent.map(({ headers }) => headers.get("authorization"));
    assertEquals([...new Set(sent)], ["Bearer ada"]);
    const error = await assertRejects(() => done, ServiceError);
    assertEquals([error.slug, outbox.get().jobs], ["discarded", []]);
    outbox.close();
  }));

Deno.test("without an identity, a refused write of ada is not revived with the token of bob", () =>
  withService(async (service) => {
    let user = "ada";
    const device = createDevice();
    const { api, outbox } = openPage(service, device, { identity: "" }, () => user);
    const { id, done } = outbox.create(api.posts, { id: 1.5 });
    await assertRejects(() => done, ServiceError);
    assertEquals([service.sent.length, outbox.get().dead], [1, 1]);
    user = "bob";
    await outbox.revive(id, { title: "of ada" });
    await calm(service);
    assertEquals([service.sent.length, outbox.get().jobs], [1, []]);
    outbox.close();
  }));

Deno.test("with an identity, a write is sent with the token of the time", () =>
  withService(async (service) => {
    let token = "first";
    const device = createDevice();
    device.isOnline = false;
    const { api, outbox } = openPage(service, device, {}, () => token);
    const { done } = outbox.create(api.posts, { title: "Tea" });
    await calm(service);
    token = "refreshed";
    device.isOnline = true;
    device.wake();
    await done;
    assertEquals(service.sent[0]?.headers.get("authorization"), "Bearer refreshed");
    outbox.close();
  }));
