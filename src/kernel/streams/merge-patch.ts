/** Any value of JSON. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

const isObject = (value: Json | undefined): value is { readonly [name: string]: Json } =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * What RFC 7396 makes of a document: members of an object patch are merged, null removes one, and anything that is no
 * object takes the place of what was there.
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
	if (!isObject(patch)) return patch;
	const merged = new Map(isObject(target) ? Object.entries(target) : []);
	for (const [name, value] of Object.entries(patch)) {
		if (value === null) merged.delete(name);
		else merged.set(name, mergePatch(merged.get(name), value));
	}
	return Object.fromEntries(merged);
}
