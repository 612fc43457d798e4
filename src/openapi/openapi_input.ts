import type { RouteDescription } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import type { Route } from "../resource/routes/endpoint.ts";
import type { DescribedService } from "./service_schema.ts";

/** The general information about the service in the OpenAPI document. */
export interface DocumentInfo {
  /** Title of the document, usually the name of the service. */
  readonly title: string;
  /** Version of the service's API. */
  readonly version: string;
  /** Description of the service: a string without line breaks. */
  readonly description?: string | undefined;
  /** The license of the API. */
  readonly license?: { readonly name: string; readonly url?: string | undefined } | undefined;
}

/** An address of the service. */
export interface DocumentServer {
  /** Absolute URL of the service, or a path relative to the URL of the document. */
  readonly url: string;
  /** Description of this address, for human readers. */
  readonly description?: string | undefined;
}

/** A route outside of all resources that has a description, such as login. */
export interface DescribedRoute {
  readonly method: string;
  /** Path with parameters as in Hono, such as `/api/auth/login`. */
  readonly path: string;
  readonly description: RouteDescription;
}

export interface NamedRoute {
  readonly route: Route;
  readonly resource: Resource;
  readonly name: string;
}

export interface OpenapiInput extends DescribedService {
  readonly info: DocumentInfo;
  /** The addresses of the service, or null for the path at which the app is mounted. */
  readonly servers: readonly DocumentServer[] | null;
  readonly hasAuthentication: boolean;
  /** The authentication schemes by name. A request needs only one. */
  readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly isIdempotent: boolean;
  /** True if clients can continue with proof of work after their request budget is used up. */
  readonly challengesByWork: boolean;
  readonly captchaHeader: string;
  /** Returns the described routes outside of resources. Later calls can include more routes. */
  routes(): readonly DescribedRoute[];
  routeCount(): number;
}
