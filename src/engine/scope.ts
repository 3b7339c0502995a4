import { FlowFabricError } from "../contract/errors.ts";

const DEFAULT_NAMESPACE = "default";

/** The namespace a call is about: the one it names, else the caller's own. `scope` is what the caller is bound to. */
export function namespaceFor(scope: string | undefined, named: string | undefined): string {
	if (scope === undefined) return named ?? DEFAULT_NAMESPACE;
	if (named === undefined || named === scope) return scope;
	throw new FlowFabricError("forbidden", {
		message: `namespace: must be ${scope}, which this token is bound to`,
		details: { field: "namespace" },
	});
}
