// The organisation of requests that name none (SEMANTICS §1.1).

export const DEFAULT_ORG_ID = '__fsd_default_org__';

export const isValidOrgId = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';
