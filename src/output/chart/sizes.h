#include "output/chart/theme.h"
