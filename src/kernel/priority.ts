const MAX_PRIORITY = 9000;

/** Any integer is taken and means the nearest priority there is. */
export const clampPriority = (priority: number): number => Math.min(MAX_PRIORITY, Math.max(0, priority));
