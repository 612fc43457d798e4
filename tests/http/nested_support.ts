import {
  all,
  type Database,
  eq,
  integer,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import type { TableLike } from "../../exports/schema.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { Engine } from "../support/engines.ts";
import { hiddenMark, type Service, withService } from "../support/http.ts";
import { recorded } from "./batch_support.ts";

export const labels = table("labels", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
});

export const artists = table("artists", {
  id: integer().primaryKey(),
  labelId: integer().references(() => labels.id).as("label_id"),
  name: text().notNull(),
  secret: text().notNull().default(`${hiddenMark}artist`),
});

export const profiles = table("profiles", {
  artistId: integer().primaryKey().references(() => artists.id).as("artist_id"),
  text: text().notNull(),
});

export const albums = table("albums", {
  id: text().primaryKey(),
  artistId: integer().notNull().references(() => artists.id).as("artist_id"),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  secret: text().notNull().default(`${hiddenMark}album`),
  createdAt: timestamp().notNull().as("created_at"),
});

export const tracks = table("tracks", {
  id: integer().primaryKey(),
  albumId: text().notNull().references(() => albums.id).as("album_id"),
  title: text().notNull().unique(),
  seconds: integer(),
  secret: text().notNull().default(`${hiddenMark}track`),
});

export const tags = table("tags", {
  id: integer().primaryKey(),
  name: text().notNull(),
  secret: text().notNull().default(`${hiddenMark}tag`),
});

export const artistTags = table("artist_tags", {
  artistId: integer().primaryKey().references(() => artists.id).as("artist_id"),
  tagId: integer().primaryKey().references(() => tags.id).as("tag_id"),
  weight: integer().notNull().default(1),
});

export const prizes = table("prizes", { id: integer().primaryKey(), name: text().notNull() });

export const awards = table("awards", {
  id: text().primaryKey(),
  artistId: integer().notNull().references(() => artists.id).as("artist_id"),
  prizeId: integer().notNull().references(() => prizes.id).as("prize_id"),
  grantedBy: text().notNull().as("granted_by"),
});

export const everyTable: readonly TableLike<unknown, unknown>[] = [
  labels,
  artists,
  profiles,
  albums,
  tracks,
  tags,
  artistTags,
  prizes,
  awards,
];

export const ada = { "x-user": "ada" };
const open = { public: true, create: () => all() } as const;

/** Changes to how the tables are served. */
export interface Changes {
  readonly artists?: Partial<ResourceOptions<typeof artists.$inferSelect>>;
  readonly albums?: Partial<ResourceOptions<typeof albums.$inferSelect>>;
  readonly tracks?: Partial<ResourceOptions<typeof tracks.$inferSelect>>;
  readonly tags?: Partial<ResourceOptions<typeof tags.$inferSelect>>;
  readonly awards?: Partial<ResourceOptions<typeof awards.$inferSelect>>;
}

/** Runs `work` against a service of music; `statements` holds what it sent to the database. */
export function withMusic(
  engine: Engine,
  changes: Changes,
  work: (service: Service, statements: string[]) => Promise<void>,
): Promise<void> {
  const statements: string[] = [];
  return withService(
    engine,
    everyTable,
    (db) => ({ db: recorded(db, statements), resources: musicResources(changes) }),
    (service) => work(service, statements),
  );
}

export function musicResources(changes: Changes) {
  return [
    resource(labels, {
      id: labels.id,
      auth: open,
      nestedWrites: true,
      relations: {
        artists: { type: "hasMany", resource: "artists", foreignKey: artists.labelId },
      },
    }),
    resource(artists, {
      id: artists.id,
      auth: { ...open, update: () => all() },
      fields: { readable: [artists.id, artists.name, artists.labelId] },
      computed: { shout: (row) => `${row.name}!` },
      nestedWrites: true,
      relations: {
        label: { type: "belongsTo", resource: labels, foreignKey: artists.labelId },
        profile: { type: "hasOne", resource: profiles, foreignKey: profiles.artistId },
        albums: { type: "hasMany", resource: albums, foreignKey: albums.artistId },
        tags: {
          type: "manyToMany",
          resource: tags,
          through: artistTags,
          foreignKey: artistTags.artistId,
          references: artistTags.tagId,
        },
        prizes: {
          type: "manyToMany",
          resource: prizes,
          through: awards,
          foreignKey: awards.artistId,
          references: awards.prizeId,
        },
      },
      ...changes.artists,
    }),
    resource(profiles, { id: profiles.artistId, auth: open }),
    resource(albums, {
      id: albums.id,
      auth: { ...open, create: (user) => eq(albums.ownerId, user.id) },
      fields: {
        readable: [albums.id, albums.artistId, albums.ownerId, albums.title],
        // The foreign key is not writable, and nested writes fill it nevertheless.
        writable: [albums.title],
      },
      generatedFields: [albums.id, albums.ownerId, albums.createdAt],
      computed: { short: (row) => row.title.slice(0, 3) },
      nestedWrites: true,
      relations: {
        artist: { type: "belongsTo", resource: artists, foreignKey: albums.artistId },
        tracks: { type: "hasMany", resource: tracks, foreignKey: tracks.albumId },
      },
      ...changes.albums,
    }),
    resource(tracks, {
      id: tracks.id,
      auth: open,
      fields: { readable: [tracks.id, tracks.albumId, tracks.title, tracks.seconds] },
      strictInput: true,
      ...changes.tracks,
    }),
    resource(tags, {
      id: tags.id,
      auth: open,
      fields: { readable: [tags.id, tags.name] },
      ...changes.tags,
    }),
    resource(prizes, { id: prizes.id, auth: open }),
    resource(awards, {
      id: awards.id,
      auth: { ...open, create: (user) => eq(awards.grantedBy, user.id) },
      generatedFields: [awards.id, awards.grantedBy],
      ...changes.awards,
    }),
  ];
}

/** The number of rows of each table, without empty tables. */
export async function counts({ driver }: Database): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { name } of everyTable.map(tableInfoOf)) {
    const { rows } = await driver.query({ text: `SELECT count(*) FROM "${name}"`, values: [] });
    const count = Number(rows[0]?.[0]);
    if (count > 0) found[name] = count;
  }
  return found;
}
