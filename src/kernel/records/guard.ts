import { slotOf } from "../ids.ts";

/** A budget or a quota: what work that names it must be admitted by. */
export type GuardKind = "budget" | "quota";

export interface GuardName {
	kind: GuardKind;
	namespace: string;
	id: string;
}

/** What budgets and quotas have in common: their part in releasing what waits for them. */
export interface GuardRecord {
	id: string;
	namespace: string;
	createdAt: number;
	/** When something was last refused admission, and so may wait; 0 when nothing does. */
	waitersAt: number;
	/** When what waits is to be looked at; 0 for when something changes. */
	releaseAt: number;
	/**
	 * It was deleted, and counts as absent: when the next step of removing all that belongs to it is due; 0 while it is
	 * there.
	 */
	removeAt: number;
}

export const guardDefaults: GuardRecord = {
	id: "",
	namespace: "default",
	createdAt: 0,
	waitersAt: 0,
	releaseAt: 0,
	removeAt: 0,
};

export const isGone = ({ removeAt }: GuardRecord): boolean => removeAt > 0;

/** Neither namespaces nor ids hold a comma. A budget and a quota of one name live side by side. */
export const guardSubject = (namespace: string, id: string): string => `${namespace},${id}`;

export const slotOfGuard = ({ namespace, id }: Pick<GuardName, "namespace" | "id">): number =>
	slotOf(guardSubject(namespace, id));

/** Whatever belongs to a budget or quota is named after it first: `<namespace>,<id>` and, behind a comma, the rest. */
export function slotOfGuardPart(name: string): number {
	const rest = name.indexOf(",", name.indexOf(",") + 1);
	return slotOf(rest < 0 ? name : name.slice(0, rest));
}

export const namespaceOfGuardPart = (_: object, name: string): string => name.slice(0, name.indexOf(","));

/** The budget or quota something belongs to, without its kind, and what it is called there. */
export function guardPartSubject(name: string): { namespace: string; id: string; rest: string } {
	const namespaceEnd = name.indexOf(",");
	const idEnd = name.indexOf(",", namespaceEnd + 1);
	return {
		namespace: name.slice(0, namespaceEnd),
		id: name.slice(namespaceEnd + 1, idEnd < 0 ? undefined : idEnd),
		rest: idEnd < 0 ? "" : name.slice(idEnd + 1),
	};
}
