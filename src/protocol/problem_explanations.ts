import type { ProblemSlug } from "./problem_codes.ts";

/**
 * The explanations of problems, as plain text. An explanation says when a problem happens and what
 * the client can do. The page at the problem's `type` shows it, and `docs/errors.md` contains the
 * same sentences.
 */
export const problemExplanations: Readonly<Record<ProblemSlug, string>> = {
  "not-found":
    "There is no such resource, route or row, or the row is outside what the user may read; the " +
    "answer does not distinguish these cases. Check the path and the id.",
  "method-not-allowed":
    "The path exists, but not for this method, or the capability is switched off for this " +
    "resource. The Allow header lists the methods that work.",
  "invalid-body":
    "The body is not JSON, not valid UTF-8, nested deeper than 32 levels, not an object, or has a " +
    "number of more than 1,000 digits. Send one JSON object.",
  "invalid-parameter":
    "A query parameter has a value it cannot take, is given twice, or names a field that is " +
    "unknown or not open to it. The detail names the parameter. A filter that looks like several " +
    "parameters must be percent-encoded. The same answers a Host that is not a host with an " +
    "optional port.",
  "filter-parse-error":
    "The filter does not follow the filter language, names a field that is unknown or not " +
    "filterable, or compares a field with a value of another type. details.position is the offset " +
    "of the first character at fault, details.expected says what could stand there.",
  "cursor-invalid":
    "The cursor was not made by this service, belongs to another resource or another order, or " +
    "was sealed with a key that is no longer in use; or the row after which it continues was " +
    "changed or deleted. Begin again with the first page.",
  "batch-limit-exceeded":
    "The batch holds more items than this resource allows, its filter matches more rows, or the " +
    "body embeds more. Nothing was written. Send smaller batches.",
  "webhook-signature-invalid":
    "The signature of the webhook is missing, malformed, too old or wrong. Check the webhook " +
    "secret on both sides and that nothing on the way changes the body.",
  "unauthorized":
    "The operation needs a user and the request has none, or its credentials are wrong or " +
    "expired. Sign in and send valid credentials.",
  "insufficient-credits":
    "The operation costs more credits than the account has. details.cost and details.balance hold " +
    "both. Buy more, then repeat the request.",
  "forbidden":
    "The user is known, but may not do this, or not to this row; or the database does not permit " +
    "the service to do it at all. Signing in again does not help.",
  "request-timeout":
    "The request stopped arriving before it was complete. Nothing was written, but for the chunks of " +
    "an import in `details.written`; send the rest again.",
  "conflict":
    "The write contradicts what is stored: a value that must be unique is taken, a referenced row " +
    "is missing or still in use, or concurrent writes kept colliding. Where it is known which, " +
    "details.errors lists the fields as a 422 does. Read the current state and decide again.",
  "idempotency-in-flight":
    "A request with the same Idempotency-Key has not finished yet. Wait, then repeat the request " +
    "to get its stored answer.",
  "idempotency-answer-not-kept":
    "The request with this Idempotency-Key was executed, and is not executed again. Its answer was " +
    "too large to be kept. details.status holds its status, and details.location where the new row " +
    "is, as far as they are known: read what was written.",
  "precondition-failed":
    "The row has changed since the tag in If-Match was read, or the tag is malformed. The row is " +
    "unchanged. details.currentETag holds its current tag: fetch the row, apply the change again.",
  "payload-too-large":
    "The body has more bytes or more fields than the service accepts. Send less in one request.",
  "unsupported-media-type":
    "The body has a content type that this route does not read. Send application/json.",
  "validation-error":
    "The body is JSON, but some values do not fit. details.errors lists each with its path and a " +
    "message; in a batch, details.index names the item, and details.path an embedded row.",
  "refused-by-database":
    "A trigger or a function of the database refused this with an error code of its own. The " +
    "detail is its message. The status is 422, or the one that the code names: PT402 is a 402.",
  "idempotency-key-reused":
    "This Idempotency-Key was used before with a different body, query or If-Match. Take a new key " +
    "for a new request.",
  "query-too-expensive":
    "The query would cost more than the service allows. Filter by an indexed field, request fewer " +
    "rows, include fewer related ones, or leave out the sorting. Where an answer is too large, " +
    "details.part says which part of it: request a smaller page, or fewer fields with select.",
  "precondition-required":
    "This resource takes changes only with an If-Match header. Fetch the row and send its ETag.",
  "proof-of-work-required":
    "The operation requires proof of work. Find a nonce so that sha256(challenge:nonce) begins " +
    "with as many zero bits as Service-PoW-Difficulty says, and repeat the request with " +
    "Service-PoW-Challenge and Service-PoW-Nonce. A challenge serves the same request once, and " +
    "only until it expires.",
  "captcha-required":
    "The operation requires a CAPTCHA. Solve the one that Service-Captcha-Provider and " +
    "Service-Captcha-Sitekey name, and repeat the request with its token. A token is used once.",
  "rate-limit-exceeded":
    "The caller has sent too many requests to this resource. Wait as many seconds as Retry-After " +
    "says.",
  "budget-exhausted":
    "The caller has used up its budget, which refills with time. Wait as many seconds as " +
    "Retry-After says.",
  "internal-error":
    "The service failed in a way it did not expect. The cause was recorded, and is not shown. " +
    "Repeating the request may help; before a write is repeated, read what is stored.",
  "billing-unsupported":
    "The billing provider in use does not offer this operation. Repeating the request does not " +
    "help.",
  "billing-failed":
    "The billing provider refused the call or could not be reached. Try again later.",
  "overloaded":
    "The service has as much work as it can do: too many requests wait for their turn, or too many " +
    "large answers have not been received by their clients. Wait as many seconds as Retry-After says.",
  "identity-unavailable":
    "The token cannot be verified, because the keys of the identity provider could not be fetched " +
    "yet. Wait as many seconds as Retry-After says.",
  "database-unavailable":
    "The database cannot be reached, is busy or full. Wait as many seconds as " +
    "Retry-After says. If the connection broke during the commit, the write may have happened: " +
    "read before you repeat it.",
  "schema-changed":
    "Another program has changed the tables of the database: a table or a column is no longer there, " +
    "or the request was refused by what a table was. A service that the command line started over a " +
    "database looks at the tables again; repeat the request after the seconds of Retry-After. Any " +
    "other service needs a start with the tables as they are.",
  "store-unavailable":
    "The key-value store of limits, keys and balances does not answer, and the service does " +
    "not guess. Wait as many seconds as Retry-After says.",
  "search-unavailable":
    "The search index does not answer, or the rows are still being indexed. Lists and filters work " +
    "without it. Wait as many seconds as Retry-After says.",
  "captcha-unavailable":
    "The CAPTCHA provider does not answer, so the token could not be checked and the request was " +
    "refused. Wait as many seconds as Retry-After says, then repeat it; the token may still be good.",
};

/** The explained problems of features that do not exist yet. This version never returns them. */
export const problemsToCome: ReadonlySet<ProblemSlug> = new Set();
