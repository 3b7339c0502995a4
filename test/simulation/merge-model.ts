/** What a patch makes of a document, both JSON; written from RFC 7396, apart from the rule that does it. */
export const merged = (document: string, patch: unknown): string =>
	JSON.stringify(merge(JSON.parse(document) as unknown, patch));

function merge(target: unknown, patch: unknown): unknown {
	if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
	const isObject = typeof target === "object" && target !== null && !Array.isArray(target);
	const result: Record<string, unknown> = isObject ? { ...target } : {};
	for (const [name, value] of Object.entries(patch)) {
		if (value === null) delete result[name];
		else result[name] = merge(result[name], value);
	}
	return result;
}
