import type { ProblemSlug } from "./problem_codes.ts";

/** The explanations of the problem codes, for the page of each problem and for `docs/errors.md`. */
export const problemExplanations: Readonly<Record<ProblemSlug, string>> = {
  "not-found":
    "The resource, the route or the row does not exist, or the user may not read the row. A " +
    "missing row and a hidden row have the same response. Check the path and the id. If the id " +
    "contains a slash, make sure that no proxy decodes %2F.",
  "method-not-allowed":
    "The path exists, but not for this method, or the resource has disabled this operation. The " +
    "Allow header lists the allowed methods.",
  "invalid-body":
    "The body is not JSON, is not valid UTF-8, is not an object, is nested deeper than 32 " +
    "levels, or contains a number with more than 1,000 digits. Send a single JSON object.",
  "invalid-parameter":
    "A query parameter has an invalid value, occurs twice, or names a field that is unknown or " +
    "that this parameter does not accept. The detail names the parameter. Percent-encode a " +
    "filter in a URL, because the service reads a plain & in the filter as the start of " +
    "another parameter. This problem also reports a Host header that is not a host with an " +
    "optional port.",
  "filter-parse-error":
    "The filter has a syntax error, names a field that is unknown or not filterable, or " +
    "compares a field with a value of another type. details.position is the offset of the first " +
    "invalid character. details.expected describes the expected input.",
  "cursor-invalid":
    "The service did not create this cursor, or the cursor belongs to another resource or " +
    "order, or the secret that encrypted the cursor is no longer in use. In a list with long " +
    "sort values or a list of a view, another possible cause is that earlier rows have changed. " +
    "Start again with the first page.",
  "batch-limit-exceeded":
    "The batch contains more items than this resource allows, its filter matches too many " +
    "rows, or the body embeds too many rows. The service has written nothing. Send smaller " +
    "batches.",
  "webhook-signature-invalid":
    "The signature of the webhook is missing, malformed, too old or wrong. Check that the " +
    "provider and the service have the same webhook secret. Make sure that no proxy changes " +
    "the body.",
  "unauthorized":
    "The operation needs a user, but the request has no credentials, or its credentials are " +
    "wrong or expired. Sign in and send valid credentials.",
  "insufficient-credits":
    "The operation costs more credits than the account has. details.cost is the cost, and " +
    "details.balance is the balance of the account. Buy more credits, then repeat the request.",
  "forbidden":
    "The user has no right to this operation, or no right to perform it on this row. It is " +
    "also possible that the database denies the service the right to the operation. Signing in " +
    "again does not help.",
  "request-timeout":
    "The client took too long to send the complete request. The service has written nothing, " +
    "unless the request is an import in chunks: then details.written is the number of rows " +
    "that were written. Send the other rows again.",
  "conflict":
    "The write conflicts with stored data: a unique value is already in use, a referenced row " +
    "is missing or still in use, or concurrent writes collided repeatedly. If the service " +
    "knows which fields cause the conflict, details.errors lists them, as in a 422. Read the " +
    "current state before you decide whether to write again.",
  "idempotency-in-flight":
    "A request with the same Idempotency-Key has not finished yet. Wait, then repeat the " +
    "request to get its stored response.",
  "idempotency-answer-not-kept":
    "The service executed the request with this Idempotency-Key, and does not execute it " +
    "again. The first response was too large to store. details.status, if present, is the " +
    "status of the response, and details.location, if present, is the URL of the new row. Read " +
    "the stored data to see what the request has written.",
  "precondition-failed":
    "The row has changed since the client read the ETag in If-Match, or the ETag is malformed. " +
    "The service has not written the row. details.currentETag is the current ETag of the row. " +
    "Fetch the current row and apply the change to it again.",
  "payload-too-large":
    "The body has more bytes or more fields than the service accepts. Divide the data into " +
    "several requests.",
  "unsupported-media-type":
    "This route does not accept the content type of the body. Send application/json.",
  "validation-error":
    "The body is JSON, but some values are invalid. details.errors lists each error with its " +
    "path and a message. If an item of a batch caused the error, details.index is its index. If " +
    "an embedded row caused the error, details.path can contain the path of this row.",
  "refused-by-database":
    "A trigger or a function of the database rejected the write with a custom error code. The " +
    "detail is the message of the database error. The status is 422, unless the error code contains a " +
    "status, as PT402 does (402).",
  "idempotency-key-reused":
    "An earlier request used this Idempotency-Key with a different body, query or If-Match. Use " +
    "a new key for a new request.",
  "query-too-expensive":
    "The query would take more time than the service allows, or its response would have too " +
    "many bytes. Filter by an indexed field, request fewer rows, include fewer related rows, " +
    "or omit the order. If the response is too large, details.part says which part of it is " +
    "too large. In this case, request a smaller page, or request fewer fields by select.",
  "precondition-required":
    "This resource accepts changes only with an If-Match header. Fetch the row and send its " +
    "ETag in If-Match.",
  "proof-of-work-required":
    "The operation requires proof of work. The header Service-PoW-Difficulty contains a number " +
    "of bits. Find a nonce for which sha256(challenge:nonce) begins with at least this number " +
    "of zero bits. Repeat the request with the headers Service-PoW-Challenge and " +
    "Service-PoW-Nonce. A challenge is valid only once, only until it expires, and only for a " +
    "request that is identical to the rejected one.",
  "captcha-required":
    "The operation requires a CAPTCHA. The headers Service-Captcha-Provider and " +
    "Service-Captcha-Sitekey identify the CAPTCHA. Solve the CAPTCHA and repeat the request " +
    "with its token. Each token is valid for one request.",
  "rate-limit-exceeded":
    "The caller has sent too many requests to this resource. Wait for the number of seconds in " +
    "Retry-After.",
  "budget-exhausted":
    "The caller has used up its budget, which refills over time. Wait for the number of seconds " +
    "in Retry-After.",
  "internal-error":
    "An unexpected error occurred in the service. The service has logged the cause, and does " +
    "not send it to clients. Repeating the request may help. Before you repeat a write, read " +
    "the stored data, because the write may have succeeded.",
  "billing-unsupported":
    "The configured billing provider does not offer this operation. Repeating the request does " +
    "not help.",
  "billing-failed":
    "The billing provider rejected the call or could not be reached. Try again later.",
  "overloaded":
    "The service has reached one of its limits. Too many requests are waiting, or too many " +
    "large responses are still being sent to clients. Wait for the number of seconds in " +
    "Retry-After.",
  "identity-unavailable":
    "The service cannot verify the token, because it has not yet been able to fetch the keys of " +
    "the identity provider. Wait for the number of seconds in Retry-After.",
  "database-unavailable":
    "The database cannot be reached, is busy or is full. Wait for the number of seconds in " +
    "Retry-After. If the connection was lost during the commit, the write may have succeeded. " +
    "After a lost connection, read the stored data before you repeat the write.",
  "schema-changed":
    "Another program has changed the tables of the database. A table or a column that the " +
    "request needs no longer exists, or the service still uses an earlier definition of a table. If " +
    "the command line serves the database, it reads the tables again: repeat the request after " +
    "the number of seconds in Retry-After. Any other service must be restarted with a " +
    "configuration that matches the current tables.",
  "store-unavailable":
    "The key-value store does not respond, so the service cannot check limits, idempotency " +
    "keys or credits. Wait for the number of seconds in Retry-After.",
  "search-unavailable":
    "The search index does not respond, or the rows are still being indexed. Lists and filters " +
    "work without the search index. Wait for the number of seconds in Retry-After.",
  "captcha-unavailable":
    "The CAPTCHA provider does not respond. The service could not verify the token and " +
    "rejected the request. Wait for the number of seconds in Retry-After, then repeat the " +
    "request. You can send the same token, which may still be valid.",
};

/** Documented problem codes that the service does not return yet. */
export const futureProblems: ReadonlySet<ProblemSlug> = new Set();
