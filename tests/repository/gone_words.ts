/** Names and words that are no longer used, each with its replacement. */

/** A pattern that must not occur. */
export interface GoneWord {
  readonly pattern: RegExp;
  readonly instead: string;
  /** The folders that it is checked in; all of them unless set. */
  readonly below?: readonly string[];
  /** The folders and files in which it is the right word. */
  readonly except?: readonly string[];
}

/** Of identifiers, also of those in the backquotes of comments and documents. */
export const goneNames: readonly GoneWord[] = [
  { pattern: /[Pp]assages?(?![a-z])/, instead: "row change" },
  { pattern: /[Rr]owEvent/, instead: "transition" },
  { pattern: /[Cc]limb/, instead: "parent step" },
  { pattern: /[Ss]howings?(?![a-z])/, instead: "include group" },
  { pattern: /[Tt]ouches(?![a-z])/, instead: "affected parents", below: ["src/live"] },
  { pattern: /[Tt]ickets?(?![a-z])/, instead: "stream session", below: ["src"] },
  { pattern: /^#?beats?(?![a-z])|Beats?(?![a-z])/, instead: "heartbeat" },
  { pattern: /[Tt]all(?:y|ies)(?![a-z])/, instead: "incremental aggregate" },
  { pattern: /[Dd]eciders?(?![a-z])/, instead: "matcher" },
  { pattern: /[Mm]issedRow/, instead: "not found or forbidden" },
  { pattern: /[Ww]aitingLine/, instead: "job queue" },
  { pattern: /^#?patien(?:ce|t)|Patien(?:ce|t)/, instead: "busy retry, retrying" },
  { pattern: /^#?settled?(?![a-z])|[a-z]Settled?(?![a-z])(?<!allSettled)/, instead: "resolve" },
  { pattern: /[Bb]ehind(?![a-z])/, instead: "after, or lagging" },
  { pattern: /[Aa]skAbout|askWithin|askImages|[Qq]uestionAbout/, instead: "evaluate" },
  { pattern: /[Kk]eyedAnswers?/, instead: "idempotent answers" },
  { pattern: /[Ff]urther(?:Rights|Access)/, instead: "related grants" },
  { pattern: /^#?holes?(?![a-z])|[a-z]Holes?(?![a-z])/, instead: "placeholder" },
  {
    pattern: /[Ff]oreign(?:Types?|Tables?|Columns?|Texts?)(?![a-z])/,
    instead: "existing",
    // It is a name of Drizzle.
    except: [
      "src/schema/drizzle/",
      "docs/drizzle.md",
      "tests/http/drizzle",
      "tests/support/drizzle",
    ],
  },
  { pattern: /^#?ways?(?![a-z])|[a-z]Ways?(?![a-z])/, instead: "path" },
  { pattern: /^#?judge|Judge/, instead: "evaluate" },
  { pattern: /^#?(?:most|least|longest|fewest)[A-Z]/, instead: "max…, min…", below: ["src"] },
  {
    pattern: /^(?:placed|arrival|followed|isFollowed)$/,
    instead: "a name that says what it is",
    below: ["src"],
  },
  {
    pattern: /^#?pric(?:e|es|ed)(?![a-z])|Prices?(?![a-z])|[Pp]ayments?(?![a-z])/,
    instead: "cost, debit",
    below: ["src"],
    // There it is about money.
    except: [
      "src/billing/",
      "src/runtime/runtime.ts",
      "src/runtime/console_observer.ts",
    ],
  },
  { pattern: /^#?anew(?![a-z])|Anew/, instead: "fresh start" },
  { pattern: /[Mm]isfit/, instead: "invalid stored value", below: ["src"] },
  { pattern: /[Ss]tandIn/, instead: "fallback listener", below: ["src"] },
  { pattern: /[Dd]escriptorReserve|spareDescriptors/, instead: "reserved descriptors" },
  { pattern: /[Ff]airTurns|[Rr]eadTurns/, instead: "request scheduler, read limiter" },
  { pattern: /[Ww]riteTurn(?![a-z])/, instead: "cross-process write lock" },
  { pattern: /[Ii]sLoneStatement/, instead: "isAutocommit" },
  { pattern: /[Kk]ept(?:Texts?|Answer)/, instead: "statement cache, stored response" },
  { pattern: /[Ss]endingAnswers/, instead: "inflight responses" },
  { pattern: /[Aa]nswerTooLarge|[Dd]earRoutes/, instead: "response too large, slow routes" },
  {
    pattern: /[Rr]eached(?:Position|After)|[Ss]ealReached/,
    instead: "offset position",
    below: ["src"],
  },
  { pattern: /[Tt]okenLease|[Ll]aterWork/, instead: "local token allowance, background tasks" },
  { pattern: /[Kk]eepsFields|[Ss]eenBy(?![a-z])/, instead: "same fields as, narrowed for" },
  { pattern: /[Ww]holeImages?/, instead: "complete images" },
  { pattern: /[Nn]ote(?:Gap|Filled|Left|Files)(?![a-z])/, instead: "record, mark, report" },
  { pattern: /[Ss]trangeHost/, instead: "invalid host" },
  { pattern: /[Dd]ecodePlain/, instead: "untyped value", below: ["src"] },
  { pattern: /[Hh]oldsGivenValues|valuesFor$/, instead: "unchanged input" },
  { pattern: /[Uu]nlessSet/, instead: "default, default value" },
  { pattern: /[Rr]eadTurn|[Dd]earMs|[Ii]sDear/, instead: "limiter entry, expensive" },
  {
    pattern: /^(?:CaptchaConditions|TokenCheck|PartedStream|postgresForeignKeys|currentMoment)$/,
    instead: "captcha context, token status, multiplexed writer, a key of Drizzle, timestamp",
  },
  { pattern: /[Ww]hoever|[Ss]omebody|[Ee]verybody/, instead: "the client, a user" },
];

/** Of comments, documents and the titles of tests. */
export const goneProse: readonly GoneWord[] = [
  { pattern: /\bwho(?:m|so)?ever\b/i, instead: "the client, the user, the caller" },
  { pattern: /\bwhom\b/i, instead: "the client, the user, the caller" },
  { pattern: /\b(?:no|some|any|every)body\b/i, instead: "no client, a user, every request" },
  { pattern: /\bthose who\b/i, instead: "clients that" },
  { pattern: /\bwho comes? back\b/i, instead: "that reconnects" },
  { pattern: /\btold\b/i, instead: "is sent, reports, receives" },
  { pattern: /\btells?\b/i, instead: "says, shows, reports" },
  { pattern: /\bby and by\b/i, instead: "gradually" },
  { pattern: /\bone['’]s own\b/i, instead: "custom, its own" },
  { pattern: /\banew\b/i, instead: "again, from the start" },
  { pattern: /\bsettl(?:e|es|ed|ing)\b/i, instead: "resolve, decide" },
  { pattern: /\b(?:go|goes|going|went) on\b/i, instead: "continue" },
  { pattern: /\bmeanwhile\b/i, instead: "in between, concurrently" },
  {
    pattern: /\bbehind\b(?! (?:a|the|its|another) (?:\w+ )?(?:prox|pooler|tunnel|load))/i,
    instead: "after, or lagging",
  },
  { pattern: /\bforeign (?:tables?|columns?|texts?|files?|timestamps?)\b/i, instead: "existing" },
  { pattern: /\b(?:passages?|deciders?|showings?|tally|tallies)\b/i, instead: "see the glossary" },
];
