import type { HasHandle } from "../request/handle.ts";
import type { ApiResource } from "./api.ts";
import type { GetOptions, ListOptions } from "./read_options.ts";
import type { FieldOf, IncludeOf, Page, RowOf, Tagged } from "./rows.ts";

/** The requests to one resource. */
export interface ResourceClient<R extends ApiResource> extends HasHandle {
  /** A page of the rows that match. */
  list<Fields extends FieldOf<R> = FieldOf<R>, Included extends IncludeOf<R> = never>(
    options?: ListOptions<R, Fields, Included>,
  ): Promise<Page<RowOf<R, Fields, Included>>>;
  /** One row with its tag; with `ifNoneMatch` null in its place while it has that tag. */
  get<
    Fields extends FieldOf<R> = FieldOf<R>,
    Included extends IncludeOf<R> = never,
    Tag extends string = never,
  >(
    key: R["key"],
    options?: GetOptions<R, Fields, Included, Tag>,
  ): Promise<Tagged<RowOf<R, Fields, Included> | ([Tag] extends [never] ? never : null)>>;
}

/** A client of a service: the clients of its resources, by their paths below the base path. */
export type Client<Api extends ApiOf<Api>> =
  & { readonly [Path in keyof Api]: ResourceClient<Api[Path]> }
  & HasHandle;

/** That every member of an `Api` describes a resource. */
export type ApiOf<Api> = { readonly [Path in keyof Api]: ApiResource };
