import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { ResourceOptions } from "../../src/resource/model/resource_options.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { AppConfig } from "../../src/app/config.ts";
import type { Engine } from "../support/engines.ts";
import type { EventStream, ServerEvent } from "../support/event_stream.ts";
import { type Service, withService } from "../support/http.ts";

/** What the tests of live streams follow. */
export const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().as("owner_id"),
  title: text().notNull(),
  rank: integer(),
  version: integer().notNull().default(1),
  deletedAt: text().as("deleted_at"),
  secret: text(),
});

type Note = typeof notes.$inferSelect;

/** The user of tests in which it does not matter who calls. */
export const ada = { "x-user": "ada" };

/** An app with these notes, public unless `options` say otherwise. */
export function withNotes(
  engine: Engine,
  options: Partial<ResourceOptions<Note>>,
  work: (service: Service) => Promise<void>,
  config: Partial<AppConfig> = {},
): Promise<void> {
  return withService(engine, [notes], () => ({
    ...config,
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: true, create: () => all(), update: () => all(), delete: () => all() },
        fields: { readable: [notes.id, notes.ownerId, notes.title, notes.rank] },
        ...options,
      }),
    ],
  }), work);
}

/** An event as a short line: `added 3 b`, `removed 3`. */
export function sent({ type, data }: ServerEvent): string {
  if (type === "removed") return `removed ${data.id}`;
  if (type === "invalidate") return `invalidate ${data.reason}`;
  if (type !== "existing") return `${type} ${data.item.id} ${data.item.title}`;
  return `existing ${data.items.map((item: Note) => item.id).join()}${data.hasMore ? "…" : ""}`;
}

/**
 * The events of a stream up to now: a row is written that every stream sees, and the
 * events before it are given.
 */
export async function toldSoFar(
  stream: EventStream,
  { send }: Pick<Service, "send">,
  resumeToken = { id: 999_999, title: "mark", ownerId: "ada", rank: 999_999 },
): Promise<readonly string[]> {
  const created = await send("POST", "/api/notes", resumeToken, ada);
  if (created.status !== 201) throw new Error(`The mark was not written: ${created.status}`);
  const deleted = await send("DELETE", `/api/notes/${resumeToken.id}`, undefined, ada);
  if (deleted.status !== 204) throw new Error(`The mark was not taken away: ${deleted.status}`);
  const lines: string[] = [];
  while (true) {
    const [event] = await stream.take(1);
    if (event === undefined) throw new Error("unreachable");
    const line = sent(event);
    if (line === `removed ${resumeToken.id}`) return lines;
    if (!line.startsWith(`added ${resumeToken.id} `)) lines.push(line);
  }
}
