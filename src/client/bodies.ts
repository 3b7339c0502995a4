import { isText } from "../contract/content-types.ts";
import { requestJson, toJson } from "../contract/json.ts";

/** From here on text is sent as base64: JSON may blow up control characters to six times their size. */
const LONG_TEXT = 1024 * 1024;
/** Larger bodies a server takes only a few of at a time. */
const JOINT_BYTES = 4 * 1024 * 1024 - 1024;

/**
 * A request with a payload as JSON text. The payload is written apart from the rest, so that what is no data is refused
 * by name as it is in process, where JSON would silently leave it out.
 */
export function bodyWith(field: "input" | "result" | "payload", request: unknown): string {
	if (typeof request !== "object" || request === null || !(field in request)) return plainBody(request);
	const { [field]: value, ...rest } = request as Record<string, unknown>;
	const head = plainBody(rest);
	if (value === undefined) return head;
	const text = toJson(field, value);
	const { contentType } = rest;
	const asBytes = text.length > LONG_TEXT && typeof value === "string" && typeof contentType === "string";
	const payload =
		asBytes && isText(contentType)
			? `"${field}Base64":"${Buffer.from(value).toString("base64")}"`
			: `"${field}":${text}`;
	return head === "{}" ? `{${payload}}` : `${head.slice(0, -1)},${payload}}`;
}

/** A request as JSON text; nothing at all is sent as null, which is refused as it is in process. */
export const plainBody = (request: unknown): string =>
	request === undefined ? "null" : requestJson("request", request);

/** Items as the bodies of as few joint calls as they fit into; `head` is what all of these say besides. */
export function* jointBodies(items: readonly string[], head = "", most = JOINT_BYTES): Generator<string> {
	let from = 0;
	let bytes = 0;
	for (let at = 0; at < items.length; at++) {
		const size = Buffer.byteLength(items[at] ?? "");
		if (at > from && bytes + size > most) {
			yield `{${head}"items":[${items.slice(from, at).join(",")}]}`;
			from = at;
			bytes = 0;
		}
		bytes += size + 1;
	}
	if (from < items.length) yield `{${head}"items":[${items.slice(from).join(",")}]}`;
}

/** A list is sent as one text, with commas between its items. */
export function queryOf(fields: Record<string, string | number | boolean | readonly string[] | undefined>): string {
	const given = Object.entries(fields).filter(([, value]) => value !== undefined);
	if (given.length === 0) return "";
	return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
}
