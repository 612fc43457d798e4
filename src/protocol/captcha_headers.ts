import { powHeaders } from "./pow_protocol.ts";

/** The header names of the CAPTCHA protocol, in lower case as in responses. */
export const captchaHeaders = {
  challengeType: powHeaders.challengeType,
  provider: "service-captcha-provider",
  siteKey: "service-captcha-sitekey",
  action: "service-captcha-action",
  /** The client sends the token in this header. The service can read another header instead. */
  token: "service-captcha-token",
} as const;
