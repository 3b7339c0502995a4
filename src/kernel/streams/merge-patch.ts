/** Any value of JSON. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A document while patches come in: an object that one of them has touched is open for the others. */
type Draft = Json | Map<string, Draft>;

const isObject = (value: Draft | undefined): value is { readonly [name: string]: Json } =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * What RFC 7396 makes of a document: members of an object patch are merged, null removes one, and anything that is no
 * object takes the place of what was there. However many patches there are, the document is gone through once.
 */
export function mergePatches(target: Json, patches: readonly Json[]): Json {
	let draft: Draft = target;
	for (const patch of patches) draft = patched(draft, patch);
	return plain(draft);
}

function patched(target: Draft | undefined, patch: Json): Draft {
	if (!isObject(patch)) return patch;
	const open = target instanceof Map ? target : new Map<string, Draft>(isObject(target) ? Object.entries(target) : []);
	for (const [name, value] of Object.entries(patch)) {
		if (value === null) open.delete(name);
		else open.set(name, patched(open.get(name), value));
	}
	return open;
}

function plain(draft: Draft): Json {
	if (!(draft instanceof Map)) return draft;
	return Object.fromEntries(Array.from(draft, ([name, value]) => [name, plain(value)]));
}
