import { accepts } from "@std/http/negotiation";

/**
 * Returns the media type of `offered` that the `Accept` header of a request prefers (RFC 9110,
 * 12.5.1). If types have equal quality, a type that the header names precedes a type that a
 * wildcard matches. If types are otherwise equal, or if no type is acceptable, it returns the first
 * offered type. The RFC allows this, and a response in another format is more useful than an error.
 */
export function acceptedType(
  { headers }: Pick<Request, "headers">,
  offered: readonly [string, ...string[]],
): string {
  const [first] = offered;
  // The length is limited, because the parser needs 1.5 µs for each element and an HTTP server
  // accepts headers of many kilobytes.
  const header = headers.get("accept") ?? "*/*";
  if (header.length > maxAcceptLength) return first;
  // The parameter `numbers=safe` selects how numbers are written, so it does not affect the match.
  const accept = header.replace(/;\s*numbers=safe/g, "");
  // An `Accept` header with a charset matches only types with a charset, so `map` adds it.
  const accepted = accepts(
    { headers: new Headers({ accept }) },
    ...offered.map((type) => type + charset),
  );
  return accepted?.slice(0, -charset.length) ?? first;
}

const charset = ";charset=utf-8";
const maxAcceptLength = 2_000;
