import type { Calls } from "../../src/contract/backend.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";

/** Two namespaces that have everything in common but their work: lanes, kinds, keys and instances of the same names. */
export const TENANTS = ["default", "acme"] as const;
export type Tenant = (typeof TENANTS)[number];

export const otherThan = (tenant: string): Tenant => (tenant === "acme" ? "default" : "acme");

export const LANES = ["default", "media"];
export const KINDS = ["a", "b"];
/** What whoever comes along may offer. */
export const CAPABILITIES = ["gpu", "tpu"];
/** What only workers offer that register, so that for long stretches nobody does. */
export const RARE_CAPABILITY = "npu";
export const ALL_CAPABILITIES = [...CAPABILITIES, RARE_CAPABILITY].sort();

/** Budgets and quotas of either tenant; those named last come and go more than the others. */
export const BUDGETS = ["b1", "b2", "b3"];
export const QUOTAS = ["q1", "q2", "q3"];

/** An engine as somebody sees it whose token is bound to a tenant. */
export const asTenant = (backend: LocalBackend, tenant: Tenant): Calls =>
	backend.as({ actor: "operator", namespace: tenant });
