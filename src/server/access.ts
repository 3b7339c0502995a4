/** Who may call what. */

export const ROLES = ["viewer", "submitter", "worker", "operator", "admin"] as const;
/** What the holder of a token may do, from reading to everything. */
export type Role = (typeof ROLES)[number];

const READ: readonly Role[] = ["viewer", "submitter", "worker", "operator", "admin"];
const SUBMIT: readonly Role[] = ["submitter", "operator", "admin"];
const WORK: readonly Role[] = ["worker", "admin"];
const OPERATE: readonly Role[] = ["operator", "admin"];
/** A holder cancels with its fence; without one a worker is refused. */
const CANCEL: readonly Role[] = ["submitter", "worker", "operator", "admin"];

/** Like submitting, but to a flow that may be another's: it is written down who did it. */
const CHANGE_FLOW: readonly Role[] = ["submitter", "operator", "admin"];

const REMOVE_WORKER: readonly Role[] = ["worker", "operator", "admin"];
const ADMIN: readonly Role[] = ["admin"];

/** Routes anyone may call. */
export const OPEN = "open";

/** Every route and the roles it is for; a route that is missing here cannot be registered. */
export const ACCESS = {
	"POST /v1/executions": SUBMIT,
	"POST /v1/executions/batch": SUBMIT,
	"GET /v1/executions": READ,
	"GET /v1/executions/:id": READ,
	"GET /v1/executions/:id/input": READ,
	"GET /v1/executions/:id/result": READ,
	"GET /v1/executions/:id/wait": READ,
	"GET /v1/executions/:id/events": READ,
	"GET /v1/executions/:id/attempts": READ,
	"GET /v1/executions/:id/steps": READ,
	"GET /v1/executions/:id/explain": READ,
	"POST /v1/executions/:id/cancel": CANCEL,
	"POST /v1/executions/:id/replay": OPERATE,
	"POST /v1/executions/:id/priority": OPERATE,
	"POST /v1/executions/:id/tags": OPERATE,
	"POST /v1/executions/:id/revoke-lease": OPERATE,
	"POST /v1/executions/bulk": OPERATE,
	"DELETE /v1/executions/:id": OPERATE,

	"GET /v1/executions/:id/attempts/:n/stream": READ,
	"GET /v1/executions/:id/attempts/:n/stream/tail": READ,
	"GET /v1/executions/:id/attempts/:n/summary": READ,
	"POST /v1/executions/:id/frames": WORK,
	"GET /v1/waitpoints": READ,
	"GET /v1/executions/:id/waitpoints": READ,
	"GET /v1/executions/:id/waitpoints/:wp/token": OPERATE,
	"GET /v1/executions/:id/signals": ["worker", "operator", "admin"],
	"POST /v1/executions/:id/signals": OPEN,
	"POST /v1/callbacks/:wp": OPEN,
	"POST /v1/executions/:id/approve": OPERATE,
	"POST /v1/executions/:id/resume": OPERATE,
	"POST /v1/executions/:id/suspend": WORK,
	"POST /v1/executions/:id/waitpoints": WORK,

	"POST /v1/claims": WORK,
	"POST /v1/grants": WORK,
	"POST /v1/grants/:id/accept": WORK,
	"POST /v1/leases/renew": WORK,
	"POST /v1/leases/complete": WORK,
	"POST /v1/executions/:id/complete": WORK,
	"POST /v1/executions/:id/fail": WORK,
	"POST /v1/executions/:id/delay": WORK,
	"POST /v1/executions/:id/release": WORK,
	"POST /v1/executions/:id/progress": WORK,
	"POST /v1/executions/:id/steps": WORK,
	"POST /v1/executions/:id/children": WORK,
	"POST /v1/executions/:id/wait-children": WORK,
	"POST /v1/executions/:id/usage": WORK,
	"GET /v1/workers/:instanceId/notices": WORK,
	"PUT /v1/workers/:instanceId": WORK,
	"DELETE /v1/workers/:instanceId": REMOVE_WORKER,
	"GET /v1/workers": READ,

	"POST /v1/flows": SUBMIT,
	"GET /v1/flows": READ,
	"GET /v1/flows/:id": READ,
	"GET /v1/flows/:id/wait": READ,
	"GET /v1/flows/:id/events": READ,
	"POST /v1/flows/:id/members": CHANGE_FLOW,
	"POST /v1/flows/:id/edges": CHANGE_FLOW,
	"PUT /v1/flows/:id/groups/:node": CHANGE_FLOW,
	"POST /v1/flows/:id/seal": CHANGE_FLOW,
	"POST /v1/flows/:id/cancel": CHANGE_FLOW,
	"DELETE /v1/flows/:id": CHANGE_FLOW,

	"GET /v1/lanes": READ,
	"PATCH /v1/lanes/:lane": OPERATE,
	"POST /v1/lanes/:lane/pause": OPERATE,
	"POST /v1/lanes/:lane/resume": OPERATE,
	"POST /v1/lanes/:lane/drain": OPERATE,
	"POST /v1/budgets": OPERATE,
	"GET /v1/budgets": READ,
	"GET /v1/budgets/:id": READ,
	"PATCH /v1/budgets/:id": OPERATE,
	"DELETE /v1/budgets/:id": OPERATE,
	"POST /v1/budgets/:id/usage": OPERATE,
	"POST /v1/budgets/:id/reset": OPERATE,
	"POST /v1/budgets/:id/release": OPERATE,
	"GET /v1/budgets/:id/ledger": READ,
	"POST /v1/quotas": OPERATE,
	"GET /v1/quotas": READ,
	"GET /v1/quotas/:id": READ,
	"PATCH /v1/quotas/:id": OPERATE,
	"DELETE /v1/quotas/:id": OPERATE,
	"GET /v1/events": READ,
	"GET /v1/admin/scanners": OPERATE,
	"POST /v1/admin/backup": ADMIN,
	"POST /v1/admin/rotate-waitpoint-secret": ADMIN,

	"GET /": OPEN,
	"GET /healthz": OPEN,
	"GET /readyz": OPEN,
	"GET /metrics": OPEN,
	"GET /openapi.json": OPEN,
} as const satisfies Record<string, readonly Role[] | typeof OPEN>;

export type RouteName = keyof typeof ACCESS;

/** Whether a route changes what others submitted or run on: who called it is written down. */
export function isAudited(name: RouteName): boolean {
	const roles: readonly Role[] | typeof OPEN = ACCESS[name];
	return !name.startsWith("GET ") && roles !== OPEN && roles !== SUBMIT && roles !== WORK;
}
