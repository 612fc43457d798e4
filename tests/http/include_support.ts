import {
  all,
  boolean,
  type Database,
  integer,
  resource,
  type ResourceDefinition,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import type { Connection, ReadLimits } from "../../exports/driver.ts";
import type { ScopeFunction } from "../../exports/options.ts";
import type { Statement } from "../../exports/sql.ts";
import type { Engine } from "../support/engines.ts";
import { hiddenMark, insertRows, type Service, withService } from "../support/http.ts";

export const artists = table("artists", {
  id: integer().primaryKey(),
  name: text().notNull(),
  secret: text().notNull(),
});
export const profiles = table("profiles", {
  id: integer().primaryKey(),
  artistId: integer().notNull().as("artist_id"),
  bio: text().notNull(),
  secret: text().notNull(),
  gone: boolean().notNull(),
});
export const albums = table("albums", {
  id: integer().primaryKey(),
  title: text().notNull(),
  artistId: integer().as("artist_id"),
  rating: integer(),
  secret: text().notNull(),
  deletedAt: timestamp().as("deleted_at"),
});
export const tracks = table("tracks", {
  id: integer().primaryKey(),
  name: text().notNull(),
  albumId: integer().notNull().as("album_id"),
});
export const tags = table("tags", {
  id: text().primaryKey(),
  label: text().notNull(),
  secret: text().notNull(),
  gone: boolean().notNull(),
});
export const albumTags = table("album_tags", {
  id: integer().primaryKey(),
  albumId: integer().notNull().as("album_id"),
  tagId: text().notNull().as("tag_id"),
  gone: boolean().notNull(),
});

export const shopTables = [artists, profiles, albums, tracks, tags, albumTags];

/** The scopes of reads: all rows unless set. */
export interface ShopScopes {
  readonly artists?: ScopeFunction;
  readonly profiles?: ScopeFunction | null;
  readonly albums?: ScopeFunction | null;
  readonly tags?: ScopeFunction | null;
  /** Of the links between albums and tags. */
  readonly albumTags?: ScopeFunction | null;
  /** Whether readable rows may be subscribed to as well. */
  readonly isLive?: boolean;
}

/** All four kinds of relations; every resource but `tracks` hides a column and computes a field. */
export function shopResources(scopes: ShopScopes = {}): readonly ResourceDefinition[] {
  const { isLive: subscribe = false } = scopes;
  const auth = (scope: ScopeFunction | null | undefined) => {
    if (scope === undefined) return { public: { read: true, subscribe } };
    if (scope === null) return {};
    return subscribe ? { read: scope, subscribe: scope } : { read: scope };
  };
  return [
    resource(artists, {
      id: artists.id,
      auth: auth(scopes.artists),
      fields: { readable: [artists.id, artists.name] },
      computed: { shout: (row) => row.name.toUpperCase() },
      relations: {
        profile: { type: "hasOne", resource: profiles, foreignKey: profiles.artistId },
        albums: {
          type: "hasMany",
          resource: albums,
          foreignKey: albums.artistId,
          filterable: true,
        },
      },
    }),
    resource(profiles, {
      id: profiles.id,
      auth: auth(scopes.profiles),
      fields: { readable: [profiles.id, profiles.artistId, profiles.bio] },
      computed: { length: (row) => row.bio.length },
      softDelete: { field: profiles.gone },
    }),
    resource(albums, {
      id: albums.id,
      auth: auth(scopes.albums),
      fields: { readable: [albums.id, albums.title, albums.artistId, albums.rating] },
      computed: { length: (row) => row.title.length },
      softDelete: { field: albums.deletedAt },
      capabilities: { enableExport: true },
      etag: {},
      relations: {
        artist: {
          type: "belongsTo",
          resource: artists,
          foreignKey: albums.artistId,
          filterable: true,
        },
        owner: { type: "belongsTo", resource: artists, foreignKey: albums.artistId },
        tracks: { type: "hasMany", resource: tracks, foreignKey: tracks.albumId, filterable: true },
        tags: {
          type: "manyToMany",
          resource: tags,
          through: albumTags,
          foreignKey: albumTags.albumId,
          references: albumTags.tagId,
          filterable: true,
        },
      },
    }),
    resource(tracks, {
      id: tracks.id,
      auth: { ...auth(undefined), delete: () => all() },
      relations: {
        album: {
          type: "belongsTo",
          resource: albums,
          foreignKey: tracks.albumId,
          filterable: true,
        },
      },
    }),
    resource(tags, {
      id: tags.id,
      auth: auth(scopes.tags),
      fields: { readable: [tags.id, tags.label] },
      computed: { length: (row) => row.label.length },
      softDelete: { field: tags.gone },
      relations: {
        albums: {
          type: "manyToMany",
          resource: albums,
          through: albumTags,
          foreignKey: albumTags.tagId,
          references: albumTags.albumId,
        },
      },
    }),
    resource(albumTags, {
      id: albumTags.id,
      auth: auth(scopes.albumTags),
      softDelete: { field: albumTags.gone },
      relations: {
        album: { type: "belongsTo", resource: albums, foreignKey: albumTags.albumId },
      },
    }),
  ];
}

/** Two artists with albums, one without; deleted rows and deleted links among them. */
export async function fillShop(db: Database): Promise<void> {
  const secret = `${hiddenMark}1`;
  await insertRows(db, artists, [
    { id: 1, name: "ada", secret },
    { id: 2, name: "bob", secret },
    { id: 3, name: "cyd", secret },
  ]);
  await insertRows(db, profiles, [
    { id: 1, artistId: 1, bio: "gone", secret, gone: true },
    { id: 2, artistId: 1, bio: "first", secret, gone: false },
    { id: 3, artistId: 1, bio: "second", secret, gone: false },
    { id: 4, artistId: 2, bio: "other", secret, gone: false },
  ]);
  await insertRows(db, albums, [
    { id: 1, title: "c", artistId: 1, rating: 5, secret, deletedAt: null },
    { id: 2, title: "a", artistId: 1, rating: null, secret, deletedAt: null },
    { id: 3, title: "b", artistId: 1, rating: 4, secret, deletedAt: null },
    { id: 4, title: "z", artistId: 1, rating: 1, secret, deletedAt: "2024-01-01T00:00:00.000Z" },
    { id: 5, title: "d", artistId: 2, rating: 3, secret, deletedAt: null },
    { id: 6, title: "e", artistId: null, rating: 3, secret, deletedAt: null },
    { id: 7, title: "f", artistId: 99, rating: 3, secret, deletedAt: null },
  ]);
  await insertRows(db, tracks, [
    { id: 1, name: "one", albumId: 2 },
    { id: 2, name: "two", albumId: 2 },
    { id: 3, name: "three", albumId: 3 },
    { id: 4, name: "four", albumId: 4 },
  ]);
  await insertRows(db, tags, [
    { id: "it's", label: "quoted", secret, gone: false },
    { id: "jazz", label: "loud", secret, gone: false },
    { id: "rock", label: "hard", secret, gone: true },
  ]);
  await insertRows(db, albumTags, [
    { id: 1, albumId: 1, tagId: "jazz", gone: false },
    { id: 2, albumId: 1, tagId: "jazz", gone: false },
    { id: 3, albumId: 1, tagId: "it's", gone: false },
    { id: 4, albumId: 1, tagId: "rock", gone: false },
    { id: 5, albumId: 2, tagId: "jazz", gone: true },
    { id: 6, albumId: 4, tagId: "jazz", gone: false },
    { id: 7, albumId: 5, tagId: "nobody", gone: false },
  ]);
}

/** Every statement that the driver runs from now on, or that runs within the limits of a request. */
export function watchStatements({ driver }: Database): Statement[] {
  const statements: Statement[] = [];
  const watched = (query: Connection["query"]) => (statement: Statement) => {
    statements.push(statement);
    return query(statement);
  };
  const query = driver.query.bind(driver);
  const reads = driver.reads.bind(driver);
  Object.defineProperty(driver, "query", { value: watched(query) });
  Object.defineProperty(driver, "reads", {
    value: (limits: ReadLimits): Connection => {
      const connection = reads(limits);
      return { query: watched((statement) => connection.query(statement)) };
    },
  });
  return statements;
}

/** Runs `work` against the filled shop. */
export function withShop(
  engine: Engine,
  scopes: ShopScopes,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(
    engine,
    shopTables,
    () => ({ resources: shopResources(scopes) }),
    async (s) => {
      await fillShop(s.db);
      await work(s);
    },
  );
}
