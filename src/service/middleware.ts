/** What a middleware sees of a request: the part of Hono's context that this service relies on. */
export interface MiddlewareContext {
  /** The request. */
  readonly req: {
    readonly raw: Request;
    readonly method: string;
    readonly path: string;
    header(name: string): string | undefined;
  };
  /** Sets a value for what comes after; `user` is read by this service. */
  set(key: string, value: unknown): void;
  /** A value that was set before. */
  get(key: string): unknown;
  /** Sets a header of the answer. */
  header(name: string, value: string): void;
  /** Answers with JSON. */
  json(value: unknown, status?: number): Response;
  /** Answers with text. */
  text(value: string, status?: number): Response;
}

/**
 * A Hono middleware. The type is looked up as a method, so that parameters compare loosely: that
 * takes both Hono's own middlewares and plain functions over {@link MiddlewareContext}.
 */
export type Middleware = {
  run(context: MiddlewareContext, next: () => Promise<void>): Promise<Response | void>;
}["run"];

/** A Hono app, or anything that answers requests. */
export interface Router {
  /** Answers one request. */
  fetch(request: Request, ...rest: never[]): Response | Promise<Response>;
}
