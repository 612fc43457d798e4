import { accepts } from "@std/http/negotiation";

/**
 * The media type of `offered` that the `Accept` header of a request prefers (RFC 9110, 12.5.1).
 * Between types of equal quality, one that the header names precedes one that a wildcard matches,
 * then the first offered precedes. Without an acceptable type it is the first offered as well: an
 * answer in another form helps more than a refusal, and the RFC allows it.
 */
export function acceptedType(
  { headers }: Pick<Request, "headers">,
  offered: readonly [string, ...string[]],
): string {
  const [first] = offered;
  // The parser takes 1.5 µs for each element, and a listener accepts headers of many kilobytes.
  const header = headers.get("accept") ?? "*/*";
  if (header.length > maxAcceptLength) return first;
  // The parameter asks for a form of the numbers, whichever type is given.
  const accept = header.replace(/;\s*numbers=safe/g, "");
  // With the parameter, because a range that names it matches no type without it.
  const accepted = accepts(
    { headers: new Headers({ accept }) },
    ...offered.map((type) => type + charset),
  );
  return accepted?.slice(0, -charset.length) ?? first;
}

const charset = ";charset=utf-8";
const maxAcceptLength = 2_000;
