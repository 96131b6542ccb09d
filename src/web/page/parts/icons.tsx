import type { ComponentChildren } from 'preact';

const Icon = ({ children }: { readonly children: ComponentChildren }) => (
  <svg
    class="icon"
    viewBox="0 0 16 16"
    width="16"
    height="16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    {children}
  </svg>
);

export const CheckIcon = () => (
  <Icon>
    <path d="M3 8.5l3.2 3.2L13 5" />
  </Icon>
);
export const CrossIcon = () => (
  <Icon>
    <path d="M4 4l8 8M12 4l-8 8" />
  </Icon>
);
export const BlockedIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.7" />
    <path d="M4 4l8 8" />
  </Icon>
);
export const PauseIcon = () => (
  <Icon>
    <path d="M5.5 3.5v9M10.5 3.5v9" />
  </Icon>
);
export const ClockIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.7" />
    <path d="M8 4.8V8l2.2 1.6" />
  </Icon>
);
export const WarningIcon = () => (
  <Icon>
    <path d="M8 2.2l6 11H2z" />
    <path d="M8 6.6v3M8 11.6v0" />
  </Icon>
);
export const DotIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="2.6" fill="currentColor" />
  </Icon>
);
export const EmptyIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5" stroke-dasharray="2 2.6" />
  </Icon>
);
export const RunningIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.7" opacity="0.3" />
    <path class="spins" d="M8 2.3a5.7 5.7 0 0 1 5.7 5.7" />
  </Icon>
);
export const FlagIcon = () => (
  <Icon>
    <path d="M4 14V2.5h8l-2 3 2 3H4" />
  </Icon>
);
export const SunIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9" />
  </Icon>
);
export const MoonIcon = () => (
  <Icon>
    <path d="M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z" />
  </Icon>
);
export const SystemIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.7" />
    <path d="M8 2.3a5.7 5.7 0 0 1 0 11.4z" fill="currentColor" />
  </Icon>
);
export const ShellIcon = () => (
  <Icon>
    <path d="M3 4.5L6.5 8 3 11.5M8 12h5" />
  </Icon>
);
export const EditIcon = () => (
  <Icon>
    <path d="M3 13l.6-2.8 7-7 2.2 2.2-7 7z" />
  </Icon>
);
export const ToolIcon = () => (
  <Icon>
    <path d="M3 8h9M8.5 4.5L12 8l-3.5 3.5" />
  </Icon>
);
export const BackIcon = () => (
  <Icon>
    <path d="M13 8H3.5M7 4L3 8l4 4" />
  </Icon>
);
export const MachineIcon = () => (
  <Icon>
    <path d="M2.5 3h11v7h-11zM6 13h4M8 10v3" />
  </Icon>
);
