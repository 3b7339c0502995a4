/** What a program of a later version may add to the document of an execution, and what must become of it. */

type Doc = Record<string, unknown>;

interface Part {
	of(doc: Doc): unknown;
	/** Tells whether it is still the same one: what is new starts with what this version knows. */
	identity(doc: Doc): unknown;
}

const part = (...path: string[]): ((doc: Doc) => unknown) => {
	return (doc) => path.reduce<unknown>((value, name) => (value as Doc | undefined)?.[name], doc);
};

const PARTS: Record<string, Part> = {
	"the document": { of: (doc) => doc, identity: () => "" },
	attempt: { of: part("attempt"), identity: part("attempt", "index") },
	"the result of the attempt": { of: part("attempt", "result"), identity: part("attempt", "index") },
	"the failure of the attempt": { of: part("attempt", "failure"), identity: part("attempt", "index") },
	lease: { of: part("lease"), identity: part("lease", "id") },
	lastLease: { of: part("lastLease"), identity: part("lastLease", "id") },
	grant: { of: part("grant"), identity: part("grant", "id") },
	cancel: { of: part("cancel"), identity: part("cancel", "requestedAt") },
	progress: { of: part("progress"), identity: part("replays") },
	input: { of: part("input"), identity: () => "" },
};

const FIELD = "fromLaterVersion";

const isObject = (value: unknown): value is Doc => typeof value === "object" && value !== null;

/** The document as a later version would have written it, with a field of its own in every part. */
export function withLaterFields(doc: string, except: readonly string[] = []): string {
	const later = JSON.parse(doc) as Doc;
	for (const [name, { of }] of Object.entries(PARTS)) {
		const value = except.includes(name) ? undefined : of(later);
		if (isObject(value)) value[FIELD] = { of: name };
	}
	return JSON.stringify(later);
}

/** The parts that a rewrite left what they were, but for the field of the later version. */
export function lostLaterFields(before: string, after: string): string[] {
	if (!before.includes(`"${FIELD}"`)) return [];
	const [old, next] = [JSON.parse(before) as Doc, JSON.parse(after) as Doc];
	return Object.entries(PARTS).flatMap(([name, { of, identity }]) => {
		const [had, has] = [of(old), of(next)];
		const isSame = isObject(had) && isObject(has) && identity(old) === identity(next);
		return isSame && FIELD in had && !(FIELD in has) ? [name] : [];
	});
}
