import type { User } from "../../auth/authorize.ts";
import { type Debit, noDebit } from "../../guard/budget/debit.ts";
import { addressGroup, clientAddress } from "../../guard/client_address.ts";
import type { StreamPart } from "../../live/stream/live_stream.ts";
import { formatKey, parseKey } from "../../plan/key.ts";
import type { Reply } from "../../protocol/reply.ts";
import { minStreamedLength } from "../../protocol/text_stream.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { asksForSafeNumbers, fromSafeBody } from "../../schema/safe_numbers.ts";
import { operationProperties } from "../model/operation_properties.ts";
import type { BodyParts, RecordReply, ResourceRequest } from "../model/operation.ts";
import { type EventLoopLimits, largeBodyBytes, runInTurn } from "../http/large_bodies.ts";
import type { WaitingRequest } from "../http/request_scheduler.ts";
import type { ResponseDelivery } from "../http/inflight_responses.ts";
import { receiveParts } from "../http/receive_parts.ts";
import { parseQuery } from "../http/query_parameters.ts";
import { type BodyLimits, type BodyReceiver, parseBody, readBody } from "../http/request_body.ts";
import { isRawBody } from "../http/same_origin.ts";
import type { RequestTarget } from "../http/request_target.ts";
import { createReplyRecorder, type ResourceRoute } from "./endpoint.ts";
import { idSegment } from "./route_table.ts";

/** The client of a routed request. The user and the address are determined when needed. */
export interface Caller extends Pick<ResponseDelivery, "delivered" | "part">, BodyReceiver {
  user(): User | null;
  address(): string | null;
}

export function callerIdentity(user: User | null, address: string | null): string {
  return user === null ? `a${addressGroup(address)}` : `u${user.id}`;
}

export interface ReceivedRequest {
  readonly request: Request;
  readonly target: RequestTarget;
  readonly caller: Caller;
}

export interface RoutedRequestOptions extends EventLoopLimits {
  readonly limits: BodyLimits;
  /** The number of proxies in front of the service whose headers about the client are trusted. */
  readonly trustedProxies: number;
  /** The routes that have had large responses. Later requests to these routes wait in a queue. */
  readonly slowRoutes: WeakSet<ResourceRoute>;
  readonly clock: Clock;
}

/** A request before its operation runs. It is a class, because closures per request are slow. */
export class RoutedRequest implements WaitingRequest, ResponseDelivery {
  readonly request: Request;
  readonly target: RequestTarget;
  readonly user: User | null;
  readonly #caller: Caller;
  readonly #route: ResourceRoute;
  readonly #options: RoutedRequestOptions;
  #reading: Promise<Uint8Array<ArrayBuffer>> | null = null;
  /** True if the body is not JSON. Known after {@link body}. */
  isRaw = false;

  constructor(received: ReceivedRequest, route: ResourceRoute, options: RoutedRequestOptions) {
    this.request = received.request;
    this.target = received.target;
    this.user = received.caller.user();
    this.#caller = received.caller;
    this.#route = route;
    this.#options = options;
  }

  address(): string | null {
    return clientAddress(
      this.request.headers,
      this.#caller.address(),
      this.#options.trustedProxies,
    );
  }

  get identity(): string {
    return callerIdentity(this.user, this.address());
  }

  get safeNumbers(): boolean {
    const accept = this.request.headers.get("accept");
    return accept !== null && asksForSafeNumbers(accept);
  }

  get mayBeLarge(): boolean {
    return this.#options.slowRoutes.has(this.#route);
  }

  delivered(): Promise<unknown> | null {
    return this.#caller.delivered();
  }

  part(): StreamPart | null {
    return this.#caller.part();
  }

  async inTurn(work: () => Promise<void>): Promise<void> {
    this.#options.slowRoutes.add(this.#route);
    await this.#options.turns.run(this, work);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  body(): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#reading === null) {
      const { takesBody, rawTypes } = this.#route.endpoint;
      this.isRaw = rawTypes !== undefined &&
        isRawBody((name) => this.request.headers.get(name), rawTypes);
      this.#reading = takesBody
        ? readBody(this.request, this.#caller, this.#options, this.isRaw)
        : Promise.resolve(new Uint8Array());
    }
    return this.#reading;
  }

  run(debit: Debit, record: RecordReply | null): MaybePromise<Reply> {
    if (this.#route.endpoint.takesBody) {
      return this.body().then((bytes) =>
        this.#whenDue(bytes, () => this.#runWith(this.#parsed(bytes), debit, record))
      );
    }
    return this.#whenDue(null, () => this.#runWith(undefined, debit, record));
  }

  /** Throws the error with which {@link run} would reject the caller, but runs nothing. */
  async authorize(): Promise<void> {
    const { endpoint, resource } = this.#route;
    const bytes = await this.body();
    const request = () =>
      this.#resourceRequest(endpoint.takesBody ? this.#parsed(bytes) : undefined, noDebit, null);
    await this.#whenDue(bytes, () => endpoint.authorize(request, this.user, resource));
  }

  #whenDue<Result>(
    body: Uint8Array | null,
    work: () => MaybePromise<Result>,
  ): MaybePromise<Result> {
    if (body !== null && body.byteLength >= largeBodyBytes) {
      return runInTurn(this, body, this.#options, work);
    }
    return this.#mayTakeLong() ? this.#options.turns.run(this, work) : work();
  }

  #mayTakeLong(): boolean {
    const { name } = this.#route.endpoint;
    return operationProperties[name].cost === "scan" || this.mayBeLarge ||
      (name === "get" && this.target.query.includes("include"));
  }

  /** Counts a stored response toward the memory limit until it is delivered. Can throw a 503. */
  countStored({ body }: Reply): void {
    if (typeof body !== "string" || body.length < minStreamedLength) return;
    this.#route.resource.inflight.add(body, this, false);
  }

  /** Returns an equal string for all paths to one operation and row, e.g. with a final slash. */
  operationPath(): string {
    const { path, resource: { url, table } } = this.#route;
    if (path === "/") return url;
    const segment = this.#segment();
    if (segment === "" && !path.includes(":")) return url + path;
    const key = parseKey(segment, table);
    return url + path.replace(":id", () => key === null ? segment : formatKey(key));
  }

  #parsed(bytes: Uint8Array<ArrayBuffer>): unknown {
    return this.isRaw ? bytes : parseBody(bytes, this.#route.resource.maxFields);
  }

  #segment(): string {
    return idSegment(this.target.path, this.#route);
  }

  #runWith(body: unknown, debit: Debit, record: RecordReply | null): MaybePromise<Reply> {
    const { endpoint, resource } = this.#route;
    return endpoint.run(this.#resourceRequest(body, debit, record), this.user, resource);
  }

  #bodyParts(maxBytes: number): BodyParts {
    const { limits, clock } = this.#options;
    const options = { receiver: this.#caller, limits, clock, maxBytes };
    return { parts: receiveParts(this.request, options), maxPartBytes: limits.bodyLimit };
  }

  #resourceRequest(body: unknown, debit: Debit, record: RecordReply | null): ResourceRequest {
    const { request, target } = this;
    const { endpoint, resource } = this.#route;
    const { safeNumbers } = this;
    return {
      segment: this.#segment(),
      query: parseQuery(target.query, resource.strictQuery, endpoint.ownParameters(resource)),
      body: safeNumbers && !this.isRaw ? fromSafeBody(body) : body,
      safeNumbers,
      header: (name) => request.headers.get(name),
      address: () => this.address(),
      debit,
      raw: request,
      signal: () => request.signal,
      delivery: this,
      code: null,
      record: record && createReplyRecorder(record, { delivery: this, safeNumbers }, resource),
      bodyParts: (maxBytes) => this.#bodyParts(maxBytes),
    };
  }
}
