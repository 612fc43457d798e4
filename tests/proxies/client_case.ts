import { assertEquals } from "@std/assert";
import { createClient, createOutbox, liveList, type ServiceError } from "../../exports/client.ts";
import { fastEnvironment } from "../client/support/fast_environment.ts";
import { until } from "../client/support/until.ts";
import type { ProxiedApi } from "./proxied_service.ts";
import type { Site } from "./through.ts";

/** A live list shows the writes of an outbox, and no write conflicts with an earlier one. */
export async function writeThroughOutbox({ url, client }: Site): Promise<void> {
  const api = createClient<ProxiedApi>({
    baseUrl: url,
    environment: fastEnvironment(20),
    fetch: (request) => fetch(request, { client }),
  });
  const conflicts: unknown[] = [];
  const refused: ServiceError[] = [];
  const outbox = createOutbox(api, {
    identity: "ada",
    onConflict: (conflict) => {
      conflicts.push(conflict);
      return null;
    },
    onDead: (_job, error) => refused.push(error),
  });
  const papers = liveList(api.papers);
  const end = papers.subscribe(() => {});
  const titleIs = (title: string) =>
    until(
      papers,
      ({ items, pending }) =>
        pending < 2 && items.some((row) => row.id === 7 && row.title === title),
    );
  const created = outbox.create(api.papers, { id: 7, title: "0" });
  await created.done;
  for (let turn = 1; turn <= 10; turn++) {
    const { done } = outbox.update(api.papers, 7, { title: `${turn}` });
    // Half of the writes follow as soon as the list shows the one before.
    if (turn % 2 === 0) await done;
    else await titleIs(`${turn}`);
  }
  await outbox.delete(api.papers, 7).done;
  assertEquals([conflicts, refused], [[], []]);
  outbox.close();
  end();
}
